/**
 * How a domain's rate adapts: one interface, four laws.
 *
 * A law knows only how far to rise and to fall. The manners common to all are written here, once:
 * the rate keeps within its bounds, one burst of objections lowers it once, and it does not grow
 * while the caller leaves what it has unused.
 *
 * `onSuccess` is for answers the host was willing to give, `onSlowDown` for those that ask for
 * less; which statuses those are is the caller's decision. Permits are metered with `onGrant` of
 * `pace.ts`: without it no rate ever grows.
 */

import { initialPace, type Pace, type Seen, usesItsRate } from './pace.ts'
import type { RateLimitConfig, StrategyName } from './rate-limit-config.ts'
import { aimd } from './strategies/aimd.ts'
import { cubic } from './strategies/cubic.ts'
import { fixed } from './strategies/fixed.ts'
import type { Law } from './strategies/law.ts'
import { multiplier } from './strategies/multiplier.ts'

export interface Strategy {
  readonly name: StrategyName
  initial(config: RateLimitConfig): Pace
  onSuccess(pace: Pace, seen: Seen, config: RateLimitConfig): Pace
  onSlowDown(pace: Pace, seen: Seen, config: RateLimitConfig): Pace
}

export const strategies: { readonly [Name in StrategyName]: Strategy } = {
  aimd: mannered('aimd', aimd),
  multiplier: mannered('multiplier', multiplier),
  cubic: mannered('cubic', cubic),
  fixed: mannered('fixed', fixed),
}

export function strategyOf(config: RateLimitConfig): Strategy {
  return strategies[config.strategy]
}

function mannered(name: StrategyName, law: Law): Strategy {
  return {
    name,
    initial: initialPace,

    onSuccess(pace, seen, config) {
      const counted = { ...pace, consecutiveSuccesses: pace.consecutiveSuccesses + 1 }
      if (law.heedsLatency && seen.speed === 'degraded') return lowered(law, counted, seen, config)
      return usesItsRate(pace) ? bounded(law.raised(counted, seen, config), config) : counted
    },

    onSlowDown(pace, seen, config) {
      const counted = {
        ...pace,
        consecutiveSuccesses: 0,
        rejections: pace.rejections + 1,
        lastRejectedAt: seen.at,
      }
      return lowered(law, counted, seen, config)
    },
  }
}

function lowered(law: Law, pace: Pace, seen: Seen, config: RateLimitConfig): Pace {
  // Sent before the rate last fell, so its answer says nothing about the rate there is now.
  if (pace.loweredAt !== null && seen.grantedAt <= pace.loweredAt) return pace
  return bounded({ ...law.lowered(pace, seen, config), loweredAt: seen.at }, config)
}

function bounded(pace: Pace, { minRps, maxRps }: RateLimitConfig): Pace {
  const ratePerSecond = Math.min(Math.max(pace.ratePerSecond, minRps), maxRps)
  return ratePerSecond === pace.ratePerSecond ? pace : { ...pace, ratePerSecond }
}
