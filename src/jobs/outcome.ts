import type { Outcome } from '../machines/decision.ts'

/**
 * An outcome other than a plain result, as a handler returns or throws it. A class of its own, so
 * that no result can be mistaken for one.
 */
export class JobOutcome {
  readonly outcome: Outcome

  constructor(outcome: Outcome) {
    this.outcome = outcome
  }
}

/** The ways to end that are not a result; handed to every handler with its context. */
export interface Outcomes {
  /** There is nothing to do: what it was for is gone, or done already. */
  skip(reason: string): JobOutcome
  /** Costs an attempt. `afterMs` is a lower bound, such as a Retry-After. */
  retry(error: Failure, options?: { readonly afterMs?: number }): JobOutcome
  /** Costs no attempt: the job is parked in the queue until then. */
  wait(until: Date | number, reason: string): JobOutcome
  /** It cannot succeed, however often it is tried. */
  reject(error: Failure): JobOutcome
}

export type Failure = string | Error | { readonly code: string; readonly message: string }

export const outcomes: Outcomes = {
  skip: (reason) => new JobOutcome({ kind: 'skipped', reason }),
  retry: (error, { afterMs } = {}) =>
    new JobOutcome({ kind: 'retry', error: jobError(error), afterMs }),
  wait: (until, reason) => new JobOutcome({ kind: 'wait', until: Number(until), reason }),
  reject: (error) => new JobOutcome({ kind: 'reject', error: jobError(error) }),
}

/** What a handler returned. */
export function outcomeOfResult(result: unknown): Outcome {
  return result instanceof JobOutcome ? result.outcome : { kind: 'done', result }
}

/** What a handler threw. */
export function outcomeOfError(thrown: unknown): Outcome {
  if (thrown instanceof JobOutcome) return thrown.outcome
  return {
    kind: 'retry',
    error: jobError(thrown instanceof Error ? thrown : String(thrown)),
  }
}

const MESSAGE_CHARS_MAX = 2_000

function jobError(failure: Failure): { code: string; message: string } {
  if (typeof failure === 'string') return { code: 'job.failed', message: clipped(failure) }
  return { code: codeOf(failure) ?? 'job.failed', message: clipped(messageOf(failure)) }
}

/** Node's errors and many libraries' carry a stable code; fetch hides it in the cause. */
function codeOf(failure: object): string | undefined {
  if ('code' in failure && typeof failure.code === 'string') return failure.code
  return 'cause' in failure && failure.cause instanceof Error ? codeOf(failure.cause) : undefined
}

function messageOf(failure: Error | { readonly message: string }): string {
  const cause = 'cause' in failure && failure.cause instanceof Error ? failure.cause.message : ''
  return cause && !failure.message.includes(cause)
    ? `${failure.message}: ${cause}`
    : failure.message
}

function clipped(message: string): string {
  return message.length <= MESSAGE_CHARS_MAX ? message : `${message.slice(0, MESSAGE_CHARS_MAX)}…`
}
