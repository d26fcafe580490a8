/**
 * Additive increase, multiplicative decrease. Fast answers add a constant, rejections and degraded
 * answers take away a share; answers in between are neither and change nothing.
 */

import type { Law } from './law.ts'

export const aimd: Law = {
  heedsLatency: true,

  raised: (pace, seen, config) =>
    seen.speed === 'fast'
      ? { ...pace, ratePerSecond: pace.ratePerSecond + config.aimdIncrease }
      : pace,

  lowered: (pace, _seen, config) => ({
    ...pace,
    ratePerSecond: pace.ratePerSecond * config.aimdDecrease,
  }),
}
