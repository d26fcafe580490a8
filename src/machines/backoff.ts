/**
 * How long a job waits before it tries again. The roll (0 ≤ roll < 1) is drawn by the host.
 */

export type BackoffPolicy =
  | { readonly kind: 'exponential'; readonly baseMs: number; readonly maxMs: number }
  | {
      readonly kind: 'schedule'
      /** Delay before the second attempt, the third, …; the last one repeats. */
      readonly delaysMs: readonly number[]
      /** Up to this share of the delay is added by chance, so that jobs failed together part. */
      readonly jitterShare?: number
    }

/** Whole milliseconds to wait after the given attempt failed; attempts count from 1. */
export function backoffMs(attempt: number, policy: BackoffPolicy, roll: number): number {
  const failures = Math.max(1, attempt)
  switch (policy.kind) {
    case 'exponential':
      return Math.floor(roll * cappedMs(failures, policy.baseMs, policy.maxMs))
    case 'schedule': {
      const delayMs = policy.delaysMs[failures - 1] ?? policy.delaysMs.at(-1) ?? 0
      return Math.floor(delayMs * (1 + roll * (policy.jitterShare ?? 0)))
    }
    default:
      return policy satisfies never
  }
}

/**
 * The same, but never before the host's own Retry-After. That is a lower bound and is not cut to
 * any maximum: a host that asks for a day gets a day. A zero asks for nothing, and the backoff
 * stands.
 */
export function retryDelayMs(
  attempt: number,
  policy: BackoffPolicy,
  roll: number,
  retryAfterMs = 0,
): number {
  return Math.max(backoffMs(attempt, policy, roll), retryAfterMs)
}

// 2 ** 1023 is the last power a number can hold; beyond it a base of zero would give NaN.
function cappedMs(failures: number, baseMs: number, maxMs: number): number {
  return Math.min(maxMs, baseMs * 2 ** Math.min(failures - 1, 1_023))
}
