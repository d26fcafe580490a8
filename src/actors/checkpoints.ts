/**
 * What is kept of the actors: the states they may be restored to, written behind in groups; and
 * whoever waits for such a write: commands that must not be performed before, and people who asked.
 */
import type { Cell } from './cell.ts'
import type { CheckpointFate } from './checkpoint-waiters.ts'
import { deadlineOf } from './deadline.ts'
import { LetterCountdown } from './letter-countdown.ts'
import type { Clock, SnapshotWrite } from './ports.ts'
import { encodeSnapshot } from './snapshot-codec.ts'
import type { MachineSnapshot } from './statechart.ts'
import { WriteBehind, type WriteBehindOptions } from './write-behind.ts'

export type CheckpointsOptions = Omit<WriteBehindOptions, 'encode'>

export class Checkpoints {
  readonly #clock: Clock
  readonly #writer: WriteBehind
  readonly #countdown = new LetterCountdown()
  #isDropped = false

  constructor(options: CheckpointsOptions) {
    this.#clock = options.clock
    this.#writer = new WriteBehind({ ...options, encode: (cell) => this.#encoded(cell) })
  }

  /** The actor is in a new state, which is kept if it is worth it. */
  take(cell: Cell, snapshot: MachineSnapshot): void {
    if (!cell.group.kind.isDurable || !snapshot.tags.has('checkpoint')) return
    cell.checkpoint = snapshot
    this.#writer.mark(cell)
  }

  /** To be written, or written again. */
  mark(cell: Cell): void {
    this.#writer.mark(cell)
  }

  /**
   * Calls `perform` once the state that asks is in the store: at once where there is nothing to wait
   * for, never before what waits already, and not at all when the actor crashes or ends meanwhile.
   */
  whenSafe(cell: Cell, { tags }: MachineSnapshot, perform: () => void): void {
    const release = (fate: CheckpointFate) => {
      if (fate !== 'dropped') perform()
    }
    if (!cell.group.kind.isWriteAhead || this.#writer.isAway) perform()
    else if (tags.has('checkpoint') && !tags.has('repeatable'))
      this.#writer.whenWritten(cell, release)
    else if (cell.waiters) cell.waiters.follow(release)
    else perform()
  }

  /** Whether what the actor makes of the letters it has now came to rest in the store. */
  saved(cell: Cell): Promise<boolean> {
    if (!cell.group.kind.isDurable || isDown(cell) || this.#isDropped) return Promise.resolve(false)
    return new Promise((resolve) => {
      this.#countdown.whenHandled(cell, (isHandled) => {
        if (isHandled) this.#writer.whenWritten(cell, (fate) => resolve(fate === 'stored'))
        else resolve(false)
      })
    })
  }

  letterHandled(cell: Cell): void {
    this.#countdown.letterHandled(cell)
  }

  /** What was held back is not wanted any more; who asked hears no. */
  dismiss(cell: Cell): void {
    this.#writer.dismissWaiters(cell)
    this.#countdown.giveUp(cell)
  }

  /** The actor has ended: what may rest in the store of it goes too. */
  remove(cell: Cell): void {
    if (cell.isStored) this.#writer.remove(cell.id, cell.fence)
  }

  isRemoving(cell: Cell): boolean {
    return this.#writer.isRemoving(cell.id)
  }

  hurry(): void {
    this.#writer.hurry()
  }

  /** Whoever is awaited is written now, together with all others of this turn. */
  hurryAwaited(): void {
    if (this.#writer.isAwaited) this.#writer.hurry()
  }

  flush(): Promise<void> {
    return this.#writer.flush()
  }

  /** Writes nothing more. */
  drop(): void {
    this.#isDropped = true
    this.#writer.drop()
    this.#countdown.giveUpAll()
  }

  #encoded(cell: Cell): SnapshotWrite {
    const checkpoint = cell.checkpoint!
    // At least the clock: an actor that began again without its snapshot still supersedes it.
    cell.seq = Math.max(cell.seq + 1, Math.floor(this.#clock.now()))
    return {
      kind: 'save',
      id: cell.id,
      fence: cell.fence,
      seq: cell.seq,
      dueAt: deadlineOf(checkpoint),
      text: encodeSnapshot(cell.chart, checkpoint),
    }
  }
}

function isDown({ phase }: Cell): boolean {
  return phase === 'restarting' || phase === 'quarantined' || phase === 'gone'
}
