/**
 * The whole outside world of the host, on one page.
 *
 * Answers may come at once or as a promise: the embedded store answers at once, so a simulation on
 * a virtual clock runs without a single await.
 */

export type Eventually<T> = T | Promise<T>

/** Time and turns. The real one is runtime/clock.ts; tests and simulations use virtual-clock.ts. */
export interface Clock {
  /** Milliseconds since the epoch; never goes back within one process. */
  now(): number
  /** Runs `work` once at the given instant, or on the next turn if that has passed. */
  wakeAt(at: number, work: () => void): Cancel
  /** Runs `work` on the next turn, after pending input and output had their chance. */
  soon(work: () => void): void
}

export type Cancel = () => void

/** A number in [0, 1). */
export type Chance = () => number

/** A snapshot as it rests in a store: the fields a store needs, and the text it need not read. */
export interface StoredSnapshot {
  readonly id: string
  /** Counts up with each lease of a job; a write with an older fence is refused. */
  readonly fence: number
  /** Counts up with each write under one fence. */
  readonly seq: number
  /** When the actor wants to be woken, or null. */
  readonly dueAt: number | null
  readonly text: string
}

export type SnapshotWrite =
  | ({ readonly kind: 'save' } & StoredSnapshot)
  | { readonly kind: 'remove'; readonly id: string; readonly fence: number }

/** `stale`: somebody with a newer fence, or a later write, has been here already. */
export type WriteVerdict = 'written' | 'stale'

export interface SnapshotStore {
  /** In the order of `ids`; undefined where nothing is stored. */
  load(ids: readonly string[]): Eventually<readonly (StoredSnapshot | undefined)[]>
  /** Each write is applied or refused by itself; the answers come in the order of `writes`. */
  write(writes: readonly SnapshotWrite[]): Eventually<readonly WriteVerdict[]>
}
