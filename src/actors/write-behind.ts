import { BoundedQueue } from './bounded-queue.ts'
import type { Cell } from './cell.ts'
import { type CheckpointWaiter, CheckpointWaiters } from './checkpoint-waiters.ts'
import type { Cancel, Clock, SnapshotStore, SnapshotWrite, WriteVerdict } from './ports.ts'

export interface WriteBehindOptions {
  readonly clock: Clock
  readonly store: SnapshotStore
  /** A change waits at most this long before its write begins. */
  readonly delayMs: number
  /** At most this many snapshots in one write. */
  readonly writesMax: number
  /** Called when a write begins: what is stored is the last checkpoint before that moment. */
  encode(cell: Cell): SnapshotWrite
  onWritten(cell: Cell, verdict: WriteVerdict): void
  onFailed(cells: readonly Cell[], error: unknown): void
  /** Its state is not plain JSON; the others are written without it. */
  onUnencodable(cell: Cell, error: unknown): void
}

/**
 * Gathers changed actors and writes them in groups, one group at a time. An actor that ends before
 * its first write never touches the store. A failed write is repeated with the next group.
 */
export class WriteBehind {
  readonly #options: WriteBehindOptions
  readonly #dirty = new BoundedQueue<Cell>(Number.POSITIVE_INFINITY)
  /** By id, until the store has answered. */
  readonly #removals = new Map<string, SnapshotWrite>()
  /** How many of those that wait are to be written without another delay. */
  #backlog = 0
  /** How many of them have been waiting since before the last tick. */
  #seen = 0
  #hasSeenRemoval = false
  #cancelTimer: Cancel | undefined
  #isWriting = false
  #isAway = false
  #isDropped = false
  /** Those with somebody waiting for their write. */
  readonly #awaited = new Set<Cell>()
  #idleWaiters: (() => void)[] = []

  constructor(options: WriteBehindOptions) {
    this.#options = options
  }

  /** The cell has a new checkpoint. */
  mark(cell: Cell): void {
    if (cell.isDirty) return
    cell.isDirty = true
    this.#dirty.push(cell)
    this.#arm()
  }

  /** Tells what becomes of the cell's checkpoint: at once, or when the write that has it is answered. */
  whenWritten(cell: Cell, waiter: CheckpointWaiter): void {
    if (this.#isDropped) waiter('dropped')
    else if (cell.isDirty || cell.isWriting) {
      cell.waiters ??= new CheckpointWaiters()
      cell.waiters.add(waiter, !cell.isDirty)
      this.#awaited.add(cell)
    } else waiter(cell.isStored ? 'stored' : 'dropped')
  }

  /** Nobody is to wait for the cell any more. */
  dismissWaiters(cell: Cell): void {
    const { waiters } = cell
    if (!waiters) return
    this.#awaited.delete(cell)
    cell.waiters = undefined
    waiters.tellAll('dropped')
  }

  get isAwaited(): boolean {
    return this.#awaited.size > 0
  }

  /** The last write failed, and none has succeeded since. */
  get isAway(): boolean {
    return this.#isAway
  }

  /** The cell has ended and what is stored of it may go. */
  remove(id: string, fence: number): void {
    this.#removals.set(id, { kind: 'remove', id, fence })
    this.#arm()
  }

  /** What may still be stored under this id belongs to one that has ended. */
  isRemoving(id: string): boolean {
    return this.#removals.has(id)
  }

  /** Begins writing now instead of after the delay. */
  hurry(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    this.#backlog = this.#dirty.size
    this.#seen = 0
    if (!this.#isWriting && !this.#isDropped) this.#writeGroup()
  }

  /** Writes everything that is waiting; resolves when nothing is left, or after one failure. */
  async flush(): Promise<void> {
    if (this.#isDropped) return
    const idle = new Promise<void>((resolve) => this.#idleWaiters.push(resolve))
    this.hurry()
    await idle
  }

  /** Forgets everything and writes no more: for a host that has stopped or is being killed. */
  drop(): void {
    this.#isDropped = true
    this.#cancelTimer?.()
    this.#dirty.takeAll()
    this.#removals.clear()
    for (const cell of this.#awaited) this.dismissWaiters(cell)
    this.#tellIdle()
  }

  #arm(): void {
    if (this.#cancelTimer || this.#isWriting || this.#isDropped) return
    const { clock, delayMs } = this.#options
    this.#cancelTimer = clock.wakeAt(clock.now() + delayMs / 2, () => this.#tick())
  }

  /**
   * Two ticks make the delay, and what a tick has not seen before it leaves for the next: a job that
   * is over in half the delay is never written, however many others are.
   */
  #tick(): void {
    this.#cancelTimer = undefined
    this.#backlog = this.#seen
    const isDue = this.#backlog > 0 || this.#hasSeenRemoval
    this.#seen = this.#dirty.size - this.#backlog
    this.#hasSeenRemoval = this.#removals.size > 0
    if (isDue) this.#writeGroup()
    else this.#arm()
  }

  /** Removals go first, so that none can take away what a later incarnation has saved. */
  #writeGroup(): void {
    const { store, writesMax } = this.#options
    const removals = [...this.#removals.values()].slice(0, writesMax)
    const cells: Cell[] = []
    const writes = [...removals]
    while (writes.length < writesMax && this.#backlog > 0) {
      const cell = this.#dirty.shift()
      this.#backlog--
      if (!cell) break
      cell.isDirty = false
      if (cell.phase !== 'gone') this.#encode(cell, cells, writes)
    }
    if (writes.length === 0) {
      if (this.#waiting > 0) this.#goOn()
      else this.#tellIdle()
      return
    }
    this.#isWriting = true
    const answered = (react: () => void) => {
      this.#isWriting = false
      for (const cell of cells) cell.isWriting = false
      if (!this.#isDropped) react()
    }
    const done = (verdicts: readonly WriteVerdict[]) =>
      answered(() => {
        for (const removal of removals)
          if (this.#removals.get(removal.id) === removal) this.#removals.delete(removal.id)
        this.#isAway = false
        cells.forEach((cell, index) => {
          const verdict = verdicts[removals.length + index] ?? 'stale'
          if (verdict === 'written') this.#tellStored(cell)
          this.#options.onWritten(cell, verdict)
        })
        this.#goOn()
      })
    const failed = (error: unknown) =>
      answered(() => {
        this.#backlog = 0
        this.#seen = 0
        this.#hasSeenRemoval = false
        this.#isAway = true
        this.#options.onFailed(cells, error)
        this.#tellFailed()
        this.#tellIdle()
        this.#arm()
      })
    let answer: ReturnType<SnapshotStore['write']>
    try {
      answer = store.write(writes)
    } catch (error) {
      failed(error)
      return
    }
    if (answer instanceof Promise) answer.then(done, failed)
    else done(answer)
  }

  #encode(cell: Cell, cells: Cell[], writes: SnapshotWrite[]): void {
    try {
      writes.push(this.#options.encode(cell))
    } catch (error) {
      this.dismissWaiters(cell)
      this.#options.onUnencodable(cell, error)
      return
    }
    cells.push(cell)
    cell.waiters?.cover()
    cell.isWriting = true
    // From here on something may rest in the store, even if the actor ends before the answer.
    cell.isStored = true
  }

  get #waiting(): number {
    return this.#dirty.size + this.#removals.size
  }

  #goOn(): void {
    if (this.#idleWaiters.length > 0) this.#backlog = this.#dirty.size
    if (this.#backlog > 0 || this.#idleWaiters.length > 0) this.#writeGroup()
    else if (this.#waiting > 0) this.#arm()
  }

  #tellStored(cell: Cell): void {
    cell.waiters?.tellCovered('stored')
    if (cell.waiters?.size !== 0) return
    cell.waiters = undefined
    this.#awaited.delete(cell)
  }

  /** All of them, not only those of the group: a store that is away must not keep anybody waiting. */
  #tellFailed(): void {
    const cells = [...this.#awaited]
    this.#awaited.clear()
    for (const cell of cells) {
      cell.waiters?.tellAll('failed')
      cell.waiters = undefined
    }
  }

  #tellIdle(): void {
    for (const resolve of this.#idleWaiters.splice(0)) resolve()
  }
}
