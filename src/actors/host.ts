/**
 * The actor host: every actor a cell in a map, every event through a bounded mailbox, one step at a
 * time.
 *
 * What it promises
 * - A letter is delivered once, in order, or its sender learns at once why not; letters that race
 *   with loading, eviction or a restart wait and are delivered afterwards.
 * - An actor that throws harms nobody else: the event it threw on becomes a dead letter, it goes on
 *   from the state before that event, and after too many crashes it is quarantined.
 * - An incarnation that has been overtaken (an older fence) cannot write.
 * - No actor can starve another: each gets a fair share of a turn, and every turn ends.
 */
import type { ActorKind, SendVerdict, StartOptions } from './actor-kind.ts'
import { ActorLife } from './actor-life.ts'
import type { Cell, CellGroup, Inspector } from './cell.ts'
import { DeadLetters } from './dead-letters.ts'
import {
  type EvictionReason,
  type HostEventMap,
  type HostEventName,
  HostEvents,
} from './host-events.ts'
import type { LifeLimits } from './life-options.ts'
import { Population } from './population.ts'
import type { Chance, Clock, SnapshotStore } from './ports.ts'
import { Recency } from './recency.ts'
import type { Command, Letter, MachineSnapshot } from './statechart.ts'
import { SUPERVISION, type SupervisionPolicy } from './supervision.ts'

export interface HostLimits extends LifeLimits {
  readonly deadLettersMax: number
  /** Actors looked at in one search for somebody to put to sleep over the cap. */
  readonly capLooksMax: number
}

export const HOST_LIMITS: HostLimits = {
  mailboxLettersMax: 1_024,
  fairShareEventsMax: 16,
  turnEventsMax: 2_048,
  snapshotDelayMs: 50,
  snapshotWritesMax: 1_000,
  deadLettersMax: 1_000,
  capLooksMax: 256,
}

export interface HostOptions {
  readonly clock: Clock
  readonly chance: Chance
  readonly snapshots: SnapshotStore
  readonly limits?: Partial<HostLimits>
  readonly supervision?: SupervisionPolicy
  /** Where a listener that throws is reported. */
  readonly onListenerError?: (error: unknown) => void
}

/** The actors of one kind, as their users see them. */
export interface Actors<E extends Letter> {
  /** Delivers soon; calls the actor into being where its kind allows it. */
  send(key: string, event: E): SendVerdict
  /** False when it is here already; one that is falling asleep goes on with the new input. */
  start(key: string, options: StartOptions): boolean
  /**
   * Whether what the actor makes of the letters it has now came to rest in the snapshot store; the
   * write is hurried. False when the store is away or refuses it, when the actor crashes or ends on
   * the way, and for actors that are not here or keep no snapshots. Never rejects.
   */
  saved(key: string): Promise<boolean>
  /** The state it is in now, if it is here. */
  peek(key: string): MachineSnapshot | undefined
  readonly size: number
  readonly population: Population
}

export interface QuarantinedActor {
  readonly kind: string
  readonly key: string
  readonly crashes: number
  readonly lettersWaiting: number
}

export class ActorHost {
  readonly #clock: Clock
  readonly #limits: HostLimits
  readonly #events: HostEvents
  readonly #groups = new Map<string, CellGroup>()
  readonly #life: ActorLife
  readonly deadLetters: DeadLetters
  #isAccepting = true

  constructor(options: HostOptions) {
    this.#clock = options.clock
    this.#limits = { ...HOST_LIMITS, ...options.limits }
    this.#events = new HostEvents(options.onListenerError ?? (() => {}))
    this.deadLetters = new DeadLetters(this.#limits.deadLettersMax)
    this.#life = new ActorLife({
      clock: options.clock,
      chance: options.chance,
      store: options.snapshots,
      limits: this.#limits,
      supervision: options.supervision ?? SUPERVISION,
      events: this.#events,
      deadLetters: this.deadLetters,
      onTurnEnd: () => this.#evictOverCap(),
    })
  }

  register<E extends Letter, C extends Command>(kind: ActorKind<E, C>): Actors<E> {
    if (this.#groups.has(kind.name)) throw new Error(`Actors '${kind.name}' are registered twice.`)
    if (kind.isWriteAhead && !kind.isDurable)
      throw new Error(`Actors '${kind.name}' write ahead but keep no snapshots: make them durable.`)
    const group: CellGroup = {
      // The group passes letters and commands through; only `send` and `perform` know their types.
      kind: kind as unknown as ActorKind<Letter, Command>,
      cells: new Map(),
      recency: new Recency(),
      population: new Population(),
      inspectors: new Map(),
    }
    this.#groups.set(kind.name, group)
    return {
      send: (key, event) => this.#send(group, key, event),
      start: (key, options) => this.#start(group, key, options),
      saved: (key) => this.#saved(group, key),
      peek: (key) => group.cells.get(key)?.snapshot,
      population: group.population,
      get size() {
        return group.cells.size
      },
    }
  }

  on<N extends HostEventName>(name: N, listener: (event: HostEventMap[N]) => void): () => void {
    return this.#events.on(name, listener)
  }

  get populations(): Readonly<Record<string, Population>> {
    return Object.fromEntries([...this.#groups].map(([name, group]) => [name, group.population]))
  }

  /** Attaches to one actor, also to its later incarnations; costs the others nothing. */
  inspect(kind: string, key: string, inspector: Inspector): () => void {
    const group = this.#group(kind)
    const inspectors = group.inspectors.get(key) ?? new Set()
    group.inspectors.set(key, inspectors.add(inspector))
    const cell = group.cells.get(key)
    if (cell) cell.inspectors = inspectors
    return () => {
      if (!inspectors.delete(inspector) || inspectors.size > 0) return
      group.inspectors.delete(key)
      const current = group.cells.get(key)
      if (current) current.inspectors = undefined
    }
  }

  quarantined(): QuarantinedActor[] {
    return [...this.#groups.values()].flatMap(({ kind, cells }) =>
      [...cells.values()]
        .filter((cell) => cell.phase === 'quarantined')
        .map((cell) => ({
          kind: kind.name,
          key: cell.key,
          crashes: cell.crashes?.length ?? 0,
          lettersWaiting: cell.mailbox.size,
        })),
    )
  }

  /** Lets a quarantined actor go on: from its last good state, or from its beginning. */
  release(kind: string, key: string, from: 'lastState' | 'beginning' = 'lastState'): boolean {
    const cell = this.#group(kind).cells.get(key)
    if (cell?.phase !== 'quarantined') return false
    cell.crashes = undefined
    if (from === 'beginning') cell.snapshot = undefined
    this.#events.emit('actor.released', () => ({ kind, key, at: this.#clock.now() }))
    this.#life.revive(cell)
    return true
  }

  /** Nobody has anything to do now; deadlines and writes may still be ahead. */
  get isQuiet(): boolean {
    return this.#life.isQuiet
  }

  /** Puts to sleep who has been idle for its kind's `idleMs`. */
  evictIdle(): void {
    const at = this.#clock.now()
    for (const { kind, recency } of this.#groups.values()) {
      if (!kind.isDurable || kind.idleMs === undefined) continue
      for (let looks = recency.size; looks > 0; looks--) {
        const oldest = recency.oldest
        if (!oldest || oldest.usedAt > at - kind.idleMs) break
        this.#evictOldest(recency, 'idle')
      }
    }
    this.#life.writeSoon()
  }

  /**
   * Takes no more letters, delivers those it has, and writes every snapshot. What waits for an actor
   * that is down is a dead letter.
   */
  async stop(): Promise<void> {
    this.#isAccepting = false
    await this.#life.settle()
    for (const { cells } of this.#groups.values())
      for (const cell of cells.values()) this.#life.buryWaiting(cell, 'stopped')
  }

  /** Stops at once and writes nothing, as a killed process does. */
  halt(): void {
    this.#isAccepting = false
    this.#life.halt()
  }

  #send(group: CellGroup, key: string, letter: Letter): SendVerdict {
    const verdict = this.#post(group, key, letter)
    if (verdict !== 'accepted') this.#life.bury(group, key, letter, verdict)
    return verdict
  }

  #post(group: CellGroup, key: string, letter: Letter): SendVerdict {
    const { kind, cells, recency } = group
    if (!this.#isAccepting) return 'stopped'
    const present = cells.get(key)
    if (!present && !kind.input) return 'absent'
    if (present?.phase === 'quarantined') return 'quarantined'
    const { accepts } = present?.chart ?? kind.chart(key)
    if (!accepts.has(letter.type)) return 'unknownEvent'
    const cell = present ?? this.#life.create(group, key, { input: kind.input?.(key) ?? {} })
    if (!cell.mailbox.push(letter)) return 'overflow'
    this.#life.rouse(cell)
    recency.touch(cell, this.#clock.now())
    return 'accepted'
  }

  #start(group: CellGroup, key: string, options: StartOptions): boolean {
    const present = group.cells.get(key)
    if (!this.#isAccepting || (present && present.phase !== 'evicting')) return false
    if (present) this.#life.succeed(present, options)
    else this.#life.create(group, key, options)
    return true
  }

  #saved(group: CellGroup, key: string): Promise<boolean> {
    const cell = group.cells.get(key)
    return cell ? this.#life.saved(cell) : Promise.resolve(false)
  }

  #evictOverCap(): void {
    for (const { kind, recency } of this.#groups.values()) {
      if (!kind.isDurable || kind.actorsMax === undefined) continue
      for (let looks = this.#limits.capLooksMax; looks > 0; looks--) {
        if (recency.size <= kind.actorsMax) break
        this.#evictOldest(recency, 'cap')
      }
    }
  }

  /** One that is not at rest stays, and is looked at again when all others have been. */
  #evictOldest(recency: Recency<Cell>, reason: EvictionReason): void {
    const { oldest } = recency
    if (oldest?.isAtRest) this.#life.evict(oldest, reason)
    else if (oldest) recency.touch(oldest, this.#clock.now())
  }

  #group(kind: string): CellGroup {
    const group = this.#groups.get(kind)
    if (!group) throw new Error(`There are no actors of kind '${kind}'.`)
    return group
  }
}
