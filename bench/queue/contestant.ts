/** The whole body of a benchmark job: its number, by which its start is ticked off. */
export interface NumberedBody {
  readonly n: number
}

/** How jobs are handed over in bulk, and what else the adapter of that queue knows by name. */
export interface Settings {
  readonly bulkSize: number
  readonly bulksAtOnce: number
  readonly [name: string]: number
}

/** What a queue is given: its servers, a folder, and whom to tell when a job starts. */
export interface Place {
  readonly postgresUrl: string
  readonly redisUrl: string
  readonly directory: string
  readonly settings: Settings
  /** The first and only line of every handler. */
  onStart(n: number): void
}

/**
 * One queue under measurement, producing and consuming in this process. It opens at rest, with its
 * schema made and its connections up, so that no clock of ours runs while a library sets up.
 */
export interface Contestant {
  /** All of them through the library's bulk call. */
  enqueue(bodies: readonly NumberedBody[]): Promise<void>
  add(body: NumberedBody): Promise<void>
  /** Begins to consume. */
  work(): Promise<void>
  /** Stops consuming, and is ready to begin again. */
  rest(): Promise<void>
  /** Asked of the store, not of the library's memory: failed jobs count as unfinished. */
  unfinished(): Promise<number>
  close(): Promise<void>
}

export type OpenContestant = (place: Place) => Promise<Contestant>
