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
    const loaded = (stored: readonly (StoredSnapshot | undefined)[]) => {
      cells.forEach((cell, index) => {
        this.#take(cell, stored[index])
      })
    }
    const failed = (error: unknown) => {
      this.#options.onFailed(cells, error)
      loaded([])
    }
    try {
      const answer = this.#options.store.load(cells.map((cell) => cell.id))
      if (answer instanceof Promise) answer.then(loaded, failed)
      else loaded(answer)
    } catch (error) {
      failed(error)
    }
  }

  #take(cell: Cell, stored: StoredSnapshot | undefined): void {
    if (cell.phase !== 'loading') return
    if (stored) {
      cell.isStored = true
      cell.seq = stored.seq
      const decoded = decodeSnapshot(cell.chart, stored, cell.group.kind.migrations)
      if (decoded.kind === 'restored') cell.snapshot = decoded.snapshot
      else this.#options.onDiscarded(cell, decoded.reason, stored.text)
    }
    this.#options.onLoaded(cell)
  }
}
