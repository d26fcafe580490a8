/**
 * What happens to one actor between being called and being gone: it is loaded, begins or resumes,
 * steps, crashes and restarts, sleeps or ends.
 */
import type { StartOptions } from './actor-kind.ts'
import { Cell, type CellGroup } from './cell.ts'
import { Checkpoints } from './checkpoints.ts'
import type { DeadReason } from './dead-letters.ts'
import { assertDeadlineMoved, deadlineOf } from './deadline.ts'
import type { EvictionReason, HostEvents } from './host-events.ts'
import { DUE, isFromHost, resumed } from './host-letters.ts'
import type { LifeOptions } from './life-options.ts'
import type { Chance, Clock, WriteVerdict } from './ports.ts'
import { SnapshotLoader } from './snapshot-loader.ts'
import {
  type Command,
  type Letter,
  type MachineSnapshot,
  type Step,
  stateName,
} from './statechart.ts'
import { superviseCrash } from './supervision.ts'
import { TurnLoop } from './turn-loop.ts'

export class ActorLife {
  readonly #clock: Clock
  readonly #chance: Chance
  readonly #options: LifeOptions
  readonly #events: HostEvents
  readonly #loop: TurnLoop
  readonly #loader: SnapshotLoader
  readonly #checkpoints: Checkpoints

  constructor(options: LifeOptions) {
    const { clock, chance, store, limits, events } = options
    this.#options = options
    this.#clock = clock
    this.#chance = chance
    this.#events = events
    this.#loader = new SnapshotLoader({
      store,
      onLoaded: (cell) => this.revive(cell),
      onDiscarded: (cell, reason, text) =>
        events.emit('snapshot.discarded', () => ({ ...this.#about(cell), reason, text })),
      onFailed: (cells, error) => this.#tellUnavailable('load', error, cells.length),
    })
    this.#loop = new TurnLoop({
      clock,
      fairShareEventsMax: limits.fairShareEventsMax,
      turnEventsMax: limits.turnEventsMax,
      handleNext: (cell) => this.#handleNext(cell),
      onAlarm: (cell) => this.#alarmed(cell),
      onTurnEnd: () => {
        this.#loader.loadWaiting()
        this.#checkpoints.hurryAwaited()
        options.onTurnEnd()
      },
    })
    this.#checkpoints = new Checkpoints({
      clock,
      store,
      delayMs: limits.snapshotDelayMs,
      writesMax: limits.snapshotWritesMax,
      onWritten: (cell, verdict) => this.#written(cell, verdict),
      onFailed: (cells, error) => this.#writeFailed(cells, error),
      onUnencodable: (cell, error) => this.#unencodable(cell, error),
    })
  }

  // ── for the host ────────────────────────────────────────────────────────────────────────────

  create(group: CellGroup, key: string, options: StartOptions): Cell {
    const { input, fence = 0, since = 0, isNew = false } = options
    const cell = new Cell(group, key, {
      input,
      fence,
      since,
      usedAt: this.#clock.now(),
      lettersMax: this.#options.limits.mailboxLettersMax,
    })
    cell.inspectors = group.inspectors.get(key)
    group.cells.set(key, cell)
    group.recency.add(cell)
    if (group.kind.isDurable && !isNew && !this.#checkpoints.isRemoving(cell)) {
      this.#count(cell, '(loading)')
      this.#loader.want(cell)
    } else {
      cell.phase = 'live'
      this.#count(cell, '(starting)')
    }
    this.#loop.enqueue(cell)
    return cell
  }

  /**
   * Started again before its snapshot was safe: the next incarnation goes on from its state, unless
   * that belongs to a former life.
   */
  succeed(sleeper: Cell, options: StartOptions): void {
    const { group, key, snapshot, checkpoint, seq, isStored, fence } = sleeper
    this.#forget(sleeper)
    const heir = this.create(group, key, { ...options, isNew: true })
    Object.assign(heir, { seq, isStored })
    if (fence >= heir.since) {
      Object.assign(heir, { snapshot, checkpoint })
      this.#checkpoints.mark(heir)
    }
    this.revive(heir)
  }

  /** A letter has come. */
  rouse(cell: Cell): void {
    if (cell.phase === 'evicting') {
      cell.phase = 'live'
      cell.group.recency.add(cell)
    }
    this.#loop.enqueue(cell)
  }

  /** Into life from its snapshot, or from the beginning where there is none; on its next turn. */
  revive(cell: Cell): void {
    cell.phase = 'live'
    cell.isToResume = cell.snapshot !== undefined
    this.#loop.enqueue(cell)
  }

  /** Puts an actor that is at rest to sleep, once its snapshot is safe. */
  evict(cell: Cell, reason: EvictionReason): void {
    cell.phase = 'evicting'
    cell.group.recency.remove(cell)
    cell.evictionReason = reason
    this.#endEviction(cell)
  }

  bury(group: CellGroup, key: string, event: Letter, reason: DeadReason): void {
    const letter = { kind: group.kind.name, key, event, reason, at: this.#clock.now() }
    this.#options.deadLetters.add(letter)
    this.#events.emit('letter.dead', () => letter)
  }

  saved(cell: Cell): Promise<boolean> {
    const saved = this.#checkpoints.saved(cell)
    // A turn ends with the writes somebody waits for.
    this.#loop.enqueue(cell)
    return saved
  }

  get isQuiet(): boolean {
    return this.#loop.isQuiet
  }

  writeSoon(): void {
    this.#checkpoints.hurry()
  }

  /** What waits for the cell can no longer be delivered. */
  buryWaiting({ group, key, mailbox }: Cell, reason: DeadReason): void {
    for (const letter of mailbox.takeAll()) this.bury(group, key, letter, reason)
  }

  /** Delivers everything that can be delivered and writes every snapshot. */
  async settle(): Promise<void> {
    do {
      this.#loop.drain()
      await Promise.all([this.#loader.idle(), this.#checkpoints.flush()])
    } while (!this.#loop.isQuiet)
    this.halt()
  }

  /** Stops at once and writes nothing, as a killed process does. */
  halt(): void {
    this.#loop.halt()
    this.#checkpoints.drop()
  }

  // ── stepping ────────────────────────────────────────────────────────────────────────────────

  #handleNext(cell: Cell): boolean {
    if (cell.phase !== 'live') return false
    if (!cell.snapshot) {
      this.#begin(cell)
      return true
    }
    if (cell.isToResume) {
      cell.isToResume = false
      this.#resume(cell, cell.snapshot)
      return true
    }
    if (cell.isDue) {
      cell.isDue = false
      this.#deliver(cell, DUE)
      return true
    }
    const letter = cell.mailbox.shift()
    if (!letter) return false
    this.#deliver(cell, letter)
    this.#checkpoints.letterHandled(cell)
    return true
  }

  #begin(cell: Cell): void {
    this.#tellActivated(cell, 'input')
    try {
      const input = { ...cell.input, at: this.#clock.now(), roll: this.#chance() }
      const { snapshot, commands } = cell.chart.begin(input)
      this.#move(cell, snapshot)
      // Also where others write ahead: there is no earlier state that a crash could fall back to.
      this.#carryOut(cell, commands)
    } catch (error) {
      this.#crashed(cell, error, null)
    }
  }

  /** States that wait for an answer ask again: whoever was to give it may be gone. */
  #resume(cell: Cell, snapshot: MachineSnapshot): void {
    this.#tellActivated(cell, 'snapshot')
    this.#adopt(cell, snapshot)
    if (cell.chart.accepts.has('RESUMED')) this.#deliver(cell, resumed(cell.input))
  }

  #deliver(cell: Cell, letter: Letter): void {
    const before = cell.snapshot!
    try {
      const step = this.#step(cell, before, letter)
      if (letter === DUE) assertDeadlineMoved(before, step.snapshot)
      this.#advance(cell, step)
    } catch (error) {
      if (!isFromHost(letter)) this.bury(cell.group, cell.key, letter, 'crashed')
      this.#crashed(cell, error, letter)
    }
  }

  #step({ chart, inspectors }: Cell, before: MachineSnapshot, letter: Letter): Step {
    const event = { ...letter, at: this.#clock.now(), roll: this.#chance() }
    if (!inspectors) return chart.step(before, event)
    const step = chart.inspectedStep(before, event)
    for (const inspect of inspectors) this.#events.tell(inspect, step)
    return step
  }

  #advance(cell: Cell, { snapshot, commands }: Step): void {
    this.#move(cell, snapshot)
    // At its end nothing that was held back is wanted any more.
    if (snapshot.status === 'done') this.#checkpoints.dismiss(cell)
    if (commands.length === 0) this.#carryOut(cell, commands)
    else this.#checkpoints.whenSafe(cell, snapshot, () => this.#carryOut(cell, commands))
  }

  #move(cell: Cell, snapshot: MachineSnapshot): void {
    this.#adopt(cell, snapshot)
    cell.group.population.transitioned()
    this.#checkpoints.take(cell, snapshot)
  }

  #carryOut(cell: Cell, commands: readonly Command[]): void {
    const { kind } = cell.group
    for (const command of commands) {
      try {
        kind.perform(command, cell.key)
      } catch (error) {
        // The step stands; resuming asks for the commands that were not performed once more.
        this.#crashed(cell, error, command)
        return
      }
    }
    const snapshot = cell.snapshot!
    if (snapshot.status === 'done') this.#finish(cell, snapshot)
    else if (kind.isDurable && snapshot.tags.has('asleep') && cell.isAtRest)
      this.evict(cell, 'asked')
    else if (cell.isDirty && snapshot.tags.has('urgent')) this.#checkpoints.hurry()
  }

  #adopt(cell: Cell, snapshot: MachineSnapshot): void {
    const dueAt = deadlineOf(snapshot)
    cell.snapshot = snapshot
    cell.isDue = false
    this.#count(cell, stateName(snapshot.value))
    this.#loop.setAlarm(cell, dueAt)
  }

  #alarmed(cell: Cell): void {
    if (cell.phase === 'restarting') {
      const crashes = cell.crashes?.length ?? 0
      this.#events.emit('actor.restarted', () => ({ ...this.#about(cell), crashes }))
      this.revive(cell)
    } else {
      cell.isDue = true
      this.#loop.enqueue(cell)
    }
  }

  // ── crashing ────────────────────────────────────────────────────────────────────────────────

  /** It goes on from the state it had: steps are pure, so a step that threw has changed nothing. */
  #crashed(cell: Cell, error: unknown, cause: Letter | null): void {
    this.#events.emit('actor.crashed', () => ({ ...this.#about(cell), error, cause }))
    this.#checkpoints.dismiss(cell)
    if (cell.snapshot?.status === 'done') {
      this.#finish(cell, cell.snapshot)
      return
    }
    const at = this.#clock.now()
    const { supervision } = this.#options
    const verdict = superviseCrash(cell.crashes ?? [], at, this.#chance(), supervision)
    cell.crashes = verdict.crashes
    if (verdict.kind === 'restart') {
      cell.phase = 'restarting'
      this.#count(cell, '(restarting)')
      this.#loop.setAlarm(cell, at + verdict.delayMs)
    } else {
      const crashes = verdict.crashes.length
      cell.phase = 'quarantined'
      this.#count(cell, '(quarantined)')
      this.#loop.setAlarm(cell, null)
      this.#events.emit('actor.quarantined', () => ({ ...this.#about(cell), error, crashes }))
    }
  }

  // ── ending and sleeping ─────────────────────────────────────────────────────────────────────

  #finish(cell: Cell, { value, output, tags }: MachineSnapshot): void {
    const state = stateName(value)
    this.#events.emit('actor.finished', () => ({ ...this.#about(cell), state, output }))
    this.#forget(cell)
    if (!tags.has('succeeded')) this.#checkpoints.remove(cell)
  }

  /** Out of every map; what still waits for it can no longer be delivered. */
  #forget(cell: Cell): void {
    const { group, key } = cell
    if (cell.phase !== 'evicting') group.recency.remove(cell)
    cell.phase = 'gone'
    group.cells.delete(key)
    this.#checkpoints.dismiss(cell)
    this.#count(cell, undefined)
    this.#loop.setAlarm(cell, null)
    this.buryWaiting(cell, 'ended')
  }

  #written(cell: Cell, verdict: WriteVerdict): void {
    if (isGone(cell)) return
    if (verdict === 'stale') this.#fenced(cell)
    else this.#endEviction(cell)
  }

  #endEviction(cell: Cell): void {
    if (cell.phase !== 'evicting' || cell.isDirty || cell.isWriting) return
    const reason = cell.evictionReason ?? 'asked'
    this.#forget(cell)
    this.#events.emit('actor.evicted', () => ({ ...this.#about(cell), reason }))
  }

  /** It hears of it, so that it can call off its work; it could save nothing more, and goes. */
  #fenced(cell: Cell): void {
    this.#events.emit('actor.fenced', () => this.#about(cell))
    const { onFenced } = cell.group.kind
    // What rests in the store is the newer incarnation's, and so is the work.
    cell.isStored = false
    this.#checkpoints.dismiss(cell)
    if (onFenced && cell.snapshot) this.#deliver(cell, onFenced)
    if (!isGone(cell)) this.#forget(cell)
  }

  #writeFailed(cells: readonly Cell[], error: unknown): void {
    this.#tellUnavailable('write', error, cells.length)
    for (const cell of cells) if (!isGone(cell)) this.#checkpoints.mark(cell)
  }

  #unencodable(cell: Cell, error: unknown): void {
    if (cell.phase === 'evicting') this.rouse(cell)
    if (cell.phase === 'live') this.#crashed(cell, error, null)
  }

  // ── telling ─────────────────────────────────────────────────────────────────────────────────

  #about(cell: Cell): { kind: string; key: string; at: number } {
    return { kind: cell.group.kind.name, key: cell.key, at: this.#clock.now() }
  }

  #tellActivated(cell: Cell, from: 'input' | 'snapshot'): void {
    this.#events.emit('actor.activated', () => ({ ...this.#about(cell), from }))
  }

  #tellUnavailable(during: 'load' | 'write', error: unknown, actors: number): void {
    const at = this.#clock.now()
    this.#events.emit('snapshots.unavailable', () => ({ at, during, error, actors }))
  }

  #count(cell: Cell, state: string | undefined): void {
    cell.group.population.move(cell.state, state)
    cell.state = state
  }
}

function isGone({ phase }: Cell): boolean {
  return phase === 'gone'
}
