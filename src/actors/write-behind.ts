import type { Cell } from './cell.ts'
import type { Cancel, Clock, SnapshotStore, SnapshotWrite, WriteVerdict } from './ports.ts'

export interface WriteBehindOptions {
  readonly clock: Clock
  readonly store: SnapshotStore
  /** A change waits at most this long before its write begins. */
  readonly delayMs: number
  /** At most this many snapshots in one write. */
  readonly writesMax: number
  /** Called when a write begins: what is stored is the state of that moment. */
  encode(cell: Cell): SnapshotWrite
  onWritten(cell: Cell, verdict: WriteVerdict): void
  onFailed(cells: readonly Cell[], error: unknown): void
}

/**
 * Gathers changed actors and writes them in groups, one group at a time. An actor that ends before
 * its first write never touches the store. A failed write is repeated with the next group.
 */
export class WriteBehind {
  readonly #options: WriteBehindOptions
  #dirty: Cell[] = []
  #removals: SnapshotWrite[] = []
  #cancelTimer: Cancel | undefined
  #isWriting = false
  #idleWaiters: (() => void)[] = []

  constructor(options: WriteBehindOptions) {
    this.#options = options
  }

  /** The cell has changed. */
  mark(cell: Cell): void {
    if (cell.isDirty) return
    cell.isDirty = true
    this.#dirty.push(cell)
    this.#arm()
  }

  /** The cell has ended and what is stored of it may go. */
  remove(id: string, fence: number): void {
    this.#removals.push({ kind: 'remove', id, fence })
    this.#arm()
  }

  /** Begins writing now instead of after the delay. */
  hurry(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    if (!this.#isWriting) this.#writeGroup()
  }

  /** Writes everything that is waiting; resolves when nothing is left, or after one failure. */
  async flush(): Promise<void> {
    this.hurry()
    if (!this.#isWriting) return
    await new Promise<void>((resolve) => this.#idleWaiters.push(resolve))
  }

  /** Forgets everything: for a host that is being killed. */
  drop(): void {
    this.#cancelTimer?.()
    this.#dirty = []
    this.#removals = []
  }

  #arm(): void {
    if (this.#cancelTimer || this.#isWriting) return
    const { clock, delayMs } = this.#options
    this.#cancelTimer = clock.wakeAt(clock.now() + delayMs, () => this.hurry())
  }

  #writeGroup(): void {
    const { store, writesMax, encode } = this.#options
    const removals = this.#removals.splice(0, writesMax)
    const cells: Cell[] = []
    const writes = [...removals]
    for (const cell of this.#dirty.splice(0, writesMax)) {
      cell.isDirty = false
      if (cell.phase === 'gone') continue
      // From here on something may rest in the store, even if the actor ends before the answer.
      cell.isStored = true
      cells.push(cell)
      writes.push(encode(cell))
    }
    if (writes.length === 0) {
      this.#finish()
      return
    }
    this.#isWriting = true
    const done = (verdicts: readonly WriteVerdict[]) => {
      this.#isWriting = false
      cells.forEach((cell, index) => {
        this.#options.onWritten(cell, verdicts[removals.length + index] ?? 'stale')
      })
      if (this.#dirty.length + this.#removals.length === 0) this.#finish()
      else if (this.#dirty.length >= writesMax || this.#idleWaiters.length > 0) this.#writeGroup()
      else this.#arm()
    }
    const failed = (error: unknown) => {
      this.#isWriting = false
      this.#removals.unshift(...removals)
      this.#options.onFailed(cells, error)
      this.#finish()
      this.#arm()
    }
    try {
      const answer = store.write(writes)
      if (answer instanceof Promise) answer.then(done, failed)
      else done(answer)
    } catch (error) {
      failed(error)
    }
  }

  #finish(): void {
    for (const resolve of this.#idleWaiters.splice(0)) resolve()
  }
}
