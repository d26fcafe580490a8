/**
 * What a job's work came to, and what follows from it. Failure is a value with a consequence: being
 * told to slow down is a wait and costs no attempt.
 */
import { type BackoffPolicy, retryDelayMs } from './backoff.ts'

export interface JobError {
  /** A stable word for programs. */
  readonly code: string
  /** A sentence for people. */
  readonly message: string
}

export type Outcome =
  | { readonly kind: 'done'; readonly result: unknown }
  /** Nothing to do: the task is gone, or somebody else has done it. */
  | { readonly kind: 'skipped'; readonly reason: string }
  | { readonly kind: 'retry'; readonly error: JobError; readonly afterMs?: number | undefined }
  | { readonly kind: 'wait'; readonly until: number; readonly reason: string }
  | { readonly kind: 'reject'; readonly error: JobError }
  | { readonly kind: 'cancelled' }

/** What the store commits, guarded by the fence. */
export type Decision =
  | { readonly kind: 'done'; readonly result: unknown }
  | { readonly kind: 'skipped'; readonly reason: string }
  | { readonly kind: 'failed'; readonly error: JobError }
  /** Every attempt is used up: to the dead letters. */
  | { readonly kind: 'dead'; readonly error: JobError }
  | { readonly kind: 'cancelled' }
  /** Back to the queue; the next claim counts as another attempt. */
  | { readonly kind: 'requeue'; readonly runAt: number; readonly error: JobError }
  /** Back to the queue without having cost an attempt. */
  | { readonly kind: 'park'; readonly runAt: number; readonly reason: string }

export interface RetryPolicy {
  readonly backoff: BackoffPolicy
  /** Pauses up to this long are waited out in memory; longer ones in the queue. */
  readonly pauseMsMax: number
}

export interface Attempt {
  readonly attempt: number
  readonly attemptsMax: number
}

export function decide(
  outcome: Outcome,
  { attempt, attemptsMax }: Attempt,
  { backoff }: RetryPolicy,
  { at, roll }: { readonly at: number; readonly roll: number },
): Decision {
  switch (outcome.kind) {
    case 'done':
    case 'skipped':
    case 'cancelled':
      return outcome
    case 'reject':
      return { kind: 'failed', error: outcome.error }
    case 'wait':
      return { kind: 'park', runAt: Math.max(outcome.until, at), reason: outcome.reason }
    case 'retry': {
      const { error, afterMs } = outcome
      if (attempt >= attemptsMax) return { kind: 'dead', error }
      return { kind: 'requeue', runAt: at + retryDelayMs(attempt, backoff, roll, afterMs), error }
    }
    default:
      return outcome satisfies never
  }
}

/** When a decision is only a pause short enough to wait out here: the instant it ends. */
export function pauseEnd(decision: Decision, at: number, policy: RetryPolicy): number | null {
  if (decision.kind !== 'requeue' && decision.kind !== 'park') return null
  return decision.runAt - at <= policy.pauseMsMax ? decision.runAt : null
}
