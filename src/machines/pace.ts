/**
 * What a domain's rate limiter has learned: one flat record, whatever the strategy, so that a
 * strategy can be changed without migrating a snapshot. Plain JSON; every change is a new value.
 *
 * Always true: minRps ≤ ratePerSecond ≤ maxRps, backoffMultiplier ≥ 1, counters ≥ 0.
 */

import type { Speed } from './latency.ts'
import type { RateLimitConfig } from './rate-limit-config.ts'

export interface Pace {
  /** How fast the budget fills now. */
  readonly ratePerSecond: number
  /** By how much the configured rate is divided (`multiplier`); 1 is normal. */
  readonly backoffMultiplier: number
  readonly consecutiveSuccesses: number
  readonly rejections: number
  readonly lastRejectedAt: number | null
  /** When the rate was last lowered. Requests granted up to then were sent at the old rate. */
  readonly loweredAt: number | null
  /** The rate at which the host last objected (`cubic` grows back towards it). */
  readonly ceilingPerSecond: number
  /** How many permits a second the caller really takes, smoothed. */
  readonly measuredPerSecond: number
  readonly measuredAt: number | null
  readonly grantsSinceMeasured: number
}

/** One answer, as far as the pace is concerned. */
export interface Seen {
  readonly at: number
  /** When the request's permit was granted. */
  readonly grantedAt: number
  readonly speed: Speed
}

// The AWS SDK's send-rate meter: half-second buckets, the newest weighing four fifths.
const meterBucketMs = 500
const meterWeight = 0.8

export function initialPace(config: RateLimitConfig): Pace {
  return {
    ratePerSecond: config.initialRps,
    backoffMultiplier: 1,
    consecutiveSuccesses: 0,
    rejections: 0,
    lastRejectedAt: null,
    loweredAt: null,
    ceilingPerSecond: config.initialRps,
    measuredPerSecond: 0,
    measuredAt: null,
    grantsSinceMeasured: 0,
  }
}

/** Meters one granted permit. A clock that went back starts the meter anew and keeps its reading. */
export function onGrant(pace: Pace, at: number): Pace {
  const bucketAt = Math.floor(at / meterBucketMs) * meterBucketMs
  const { measuredAt } = pace
  if (measuredAt === null || bucketAt < measuredAt) {
    return { ...pace, measuredAt: bucketAt, grantsSinceMeasured: 0 }
  }
  const grants = pace.grantsSinceMeasured + 1
  if (bucketAt === measuredAt) return { ...pace, grantsSinceMeasured: grants }
  const perSecond = (grants * 1_000) / (bucketAt - measuredAt)
  return {
    ...pace,
    measuredPerSecond: pace.measuredPerSecond + meterWeight * (perSecond - pace.measuredPerSecond),
    measuredAt: bucketAt,
    grantsSinceMeasured: 0,
  }
}

/** A caller that leaves half its rate unused has not shown that the host bears more of it. */
export function usesItsRate(pace: Pace): boolean {
  return pace.ratePerSecond < 2 * pace.measuredPerSecond
}
