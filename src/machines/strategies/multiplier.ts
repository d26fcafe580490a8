/**
 * A multiplier divides the configured rate: half as much again after each rejection, a tenth less
 * after every ten successes in a row, never below one.
 */

import type { Pace } from '../pace.ts'
import type { RateLimitConfig } from '../rate-limit-config.ts'
import type { Law } from './law.ts'

const growth = 1.5
const decay = 0.9
const successesPerStep = 10

export const multiplier: Law = {
  heedsLatency: false,

  raised: (pace, _seen, config) =>
    pace.consecutiveSuccesses < successesPerStep
      ? pace
      : { ...divided(pace, pace.backoffMultiplier * decay, config), consecutiveSuccesses: 0 },

  lowered: (pace, _seen, config) => divided(pace, pace.backoffMultiplier * growth, config),
}

// Past initialRps / minRps the rate stands on its floor already: a multiplier that grew on
// regardless would only postpone the recovery.
function divided(pace: Pace, wanted: number, config: RateLimitConfig): Pace {
  const backoffMultiplier = Math.min(Math.max(1, wanted), config.initialRps / config.minRps)
  return { ...pace, backoffMultiplier, ratePerSecond: config.initialRps / backoffMultiplier }
}
