/**
 * The AWS SDK's adaptive mode: after a rejection the rate falls to a share β of what was really
 * sent, W, and climbs back on the curve C·(t − K)³ + W with K = ∛(W·(1 − β) / C): quickly at first,
 * flat around W where the host objected, then ever faster in search of a new ceiling.
 */

import type { Law } from './law.ts'

export const cubic: Law = {
  heedsLatency: false,

  raised: (pace, seen, config) => {
    // No ceiling is known before the first rejection; the SDK starts unlimited, we start gently.
    if (pace.loweredAt === null) {
      return { ...pace, ratePerSecond: pace.ratePerSecond + config.aimdIncrease }
    }
    const ceiling = pace.ceilingPerSecond
    const elapsedS = Math.max(0, seen.at - pace.loweredAt) / 1_000
    const plateauS = Math.cbrt((ceiling * (1 - config.cubicDecrease)) / config.cubicScale)
    const onCurve = config.cubicScale * (elapsedS - plateauS) ** 3 + ceiling
    // After a long silence the curve is far above anything the host has been seen to bear.
    const ratePerSecond = Math.min(onCurve, 2 * pace.measuredPerSecond)
    return ratePerSecond > pace.ratePerSecond ? { ...pace, ratePerSecond } : pace
  },

  lowered: (pace, _seen, config) => {
    const sentPerSecond = pace.measuredPerSecond || pace.ratePerSecond
    const ceilingPerSecond = Math.min(sentPerSecond, pace.ratePerSecond)
    return {
      ...pace,
      ceilingPerSecond,
      ratePerSecond: ceilingPerSecond * config.cubicDecrease,
    }
  },
}
