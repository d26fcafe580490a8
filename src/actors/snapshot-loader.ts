import type { Cell } from './cell.ts'
import type { SnapshotStore, StoredSnapshot } from './ports.ts'
import { decodeSnapshot } from './snapshot-codec.ts'

export interface SnapshotLoaderOptions {
  readonly store: SnapshotStore
  /** The cell has its snapshot now, or none to go on from. */
  onLoaded(cell: Cell): void
  onDiscarded(cell: Cell, reason: string, text: string): void
  onFailed(cells: readonly Cell[], error: unknown): void
}

/**
 * Fetches the snapshots of all actors called into being during one turn with one question. Losing
 * them costs repeated work, never an actor: what cannot be had or used, begins again.
 */
export class SnapshotLoader {
  readonly #options: SnapshotLoaderOptions
  #waiting: Cell[] = []
  #loadsUnderWay = 0
  #idleWaiters: (() => void)[] = []

  constructor(options: SnapshotLoaderOptions) {
    this.#options = options
  }

  want(cell: Cell): void {
    this.#waiting.push(cell)
  }

  loadWaiting(): void {
    if (this.#waiting.length === 0) return
    const cells = this.#waiting
    this.#waiting = []
    this.#loadsUnderWay++
    const loaded = (stored: readonly (StoredSnapshot | undefined)[]) => {
      this.#loadsUnderWay--
      cells.forEach((cell, index) => {
        this.#take(cell, stored[index])
      })
      if (this.#loadsUnderWay === 0) for (const tell of this.#idleWaiters.splice(0)) tell()
    }
    const failed = (error: unknown) => {
      this.#options.onFailed(cells, error)
      loaded([])
    }
    let answer: ReturnType<SnapshotStore['load']>
    try {
      answer = this.#options.store.load(cells.map((cell) => cell.id))
    } catch (error) {
      failed(error)
      return
    }
    if (answer instanceof Promise) answer.then(loaded, failed)
    else loaded(answer)
  }

  /** Resolves when every question has been answered. */
  async idle(): Promise<void> {
    if (this.#loadsUnderWay === 0) return
    await new Promise<void>((resolve) => this.#idleWaiters.push(resolve))
  }

  #take(cell: Cell, stored: StoredSnapshot | undefined): void {
    if (stored) {
      cell.isStored = true
      cell.seq = stored.seq
      if (stored.fence >= cell.since) this.#restore(cell, stored)
    }
    this.#options.onLoaded(cell)
  }

  #restore(cell: Cell, stored: StoredSnapshot): void {
    const decoded = decodeSnapshot(cell.chart, stored, cell.group.kind.migrations)
    if (decoded.kind === 'restored') cell.snapshot = decoded.snapshot
    else this.#options.onDiscarded(cell, decoded.reason, stored.text)
  }
}
