import type { OutcomeKind } from './outcome.ts'

/** What one attempt taught us. The same event goes to the domain's limiter and to its breaker. */
export interface Feedback {
  /** The permit it was made with. */
  readonly id: string
  readonly kind: OutcomeKind
  /** Until the head of the answer; null when there was no answer to time. */
  readonly latencyMs: number | null
  /** How long the server wants to be left alone; null when it did not say. */
  readonly retryAfterMs: number | null
  /** The request is over and its permit comes back with this; otherwise RELEASED will follow. */
  readonly ends: boolean
}

/** The server itself has said when to come back. */
export function isDirected({ retryAfterMs }: Feedback): boolean {
  return retryAfterMs !== null && retryAfterMs > 0
}
