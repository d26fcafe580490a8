/**
 * A strategy's own arithmetic: how far the rate rises after an answer in good time, how far it
 * falls after an objection. Bounds, bursts and idle callers are taken care of around it.
 */

import type { Pace, Seen } from '../pace.ts'
import type { RateLimitConfig } from '../rate-limit-config.ts'

export interface Law {
  /** Whether an answer that took far too long is an objection, like a 429. */
  readonly heedsLatency: boolean
  raised(pace: Pace, seen: Seen, config: RateLimitConfig): Pace
  lowered(pace: Pace, seen: Seen, config: RateLimitConfig): Pace
}
