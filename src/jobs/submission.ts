/** What somebody hands in to have a job done. */
export interface Submission {
  readonly type: string
  readonly body?: unknown
  /** The same key again gives back the first job. */
  readonly key?: string | undefined
  /** The server it will call; by default what its type makes of the body. */
  readonly domain?: string | undefined
  /** Lower goes first; 0 unless said otherwise. */
  readonly priority?: number | undefined
  /** Not before this instant. */
  readonly runAt?: Date | number | undefined
  readonly attemptsMax?: number | undefined
  readonly taskId?: string | undefined
  readonly tracing?: { readonly traceId: string; readonly spanId: string } | undefined
}

export interface SubmissionReceipt {
  readonly id: string
  /** False when a job with the same key was there before: `id` is that job's. */
  readonly isNew: boolean
}

/** Hands in jobs; an accepted job is never lost. */
export interface JobDispatcher {
  /** Rejects with `SubmissionRefused`, `QueueFull` or, when the store is away, `StoreUnavailable`. */
  submit(submission: Submission): Promise<SubmissionReceipt>
  /** All of them or none. */
  submitMany(submissions: readonly Submission[]): Promise<readonly SubmissionReceipt[]>
}

export const submissionLimits = {
  bodyBytesMax: 64 * 1024,
  keyCharsMax: 512,
  domainCharsMax: 253,
  priorityMax: 1_000_000,
  attemptsMax: 100,
  batchJobsMax: 10_000,
} as const

export class SubmissionRefused extends Error {
  /** The place in the batch, and what is wrong with that submission, in words. */
  readonly problems: readonly { readonly index: number; readonly message: string }[]

  constructor(problems: readonly { readonly index: number; readonly message: string }[]) {
    super(problems.map(({ message }) => message).join('\n'))
    this.problems = problems
  }
}

export class QueueFull extends Error {
  readonly retryAfterMs: number

  constructor(depth: number, depthMax: number, retryAfterMs: number) {
    super(
      `The queue holds ${depth} jobs of at most ${depthMax}: send this again later, or raise the limit.`,
    )
    this.retryAfterMs = retryAfterMs
  }
}
