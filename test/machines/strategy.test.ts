import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Speed } from '../../src/machines/latency.ts'
import { onGrant, type Pace } from '../../src/machines/pace.ts'
import {
  type RateLimitConfig,
  rateLimitConfig,
  strategyNames,
} from '../../src/machines/rate-limit-config.ts'
import { strategies, strategyOf } from '../../src/machines/strategy.ts'

const start = 1_800_000_000_000
const bounds = { initialRps: 8, minRps: 0.5, maxRps: 20 }
const configFor = (strategy: RateLimitConfig['strategy']) =>
  rateLimitConfig({ ...bounds, strategy })
const seen = (at: number, speed: Speed = 'fast', grantedAt = at) => ({ at, grantedAt, speed })

/** A caller that takes everything it may have, so that growth is not held back. */
const busy = (pace: Pace): Pace => ({ ...pace, measuredPerSecond: pace.ratePerSecond })

describe.each(strategyNames)('%s', (name) => {
  const config = configFor(name)
  const { initial, onSuccess, onSlowDown } = strategyOf(config)

  it('is found by its name and starts at the initial rate', () => {
    expect(strategyOf(config)).toBe(strategies[name])
    expect(strategyOf(config).name).toBe(name)
    expect(initial(config).ratePerSecond).toBe(8)
    expect(initial(config).backoffMultiplier).toBe(1)
  })

  it('a burst of rejections lowers the rate once and is counted in full', () => {
    const first = onSlowDown(busy(initial(config)), seen(start), config)
    const sentBefore = seen(start + 90, 'fast', start - 10)
    const second = onSlowDown(onSlowDown(first, sentBefore, config), sentBefore, config)
    expect(second.ratePerSecond).toBe(first.ratePerSecond)
    expect(second.rejections).toBe(3)
    expect(second.lastRejectedAt).toBe(start + 90)
  })

  it('a rejection ends the row of successes', () => {
    const succeeded = onSuccess(initial(config), seen(start), config)
    expect(succeeded.consecutiveSuccesses).toBe(1)
    expect(onSlowDown(succeeded, seen(start), config).consecutiveSuccesses).toBe(0)
  })

  it('the rate does not grow while the caller leaves half of it unused', () => {
    const lowered = onSlowDown(busy(initial(config)), seen(start), config)
    let pace: Pace = { ...lowered, measuredPerSecond: lowered.ratePerSecond / 2 }
    for (let each = 1; each <= 50; each += 1) {
      pace = onSuccess(pace, seen(start + each * 1_000), config)
    }
    expect(pace.ratePerSecond).toBe(lowered.ratePerSecond)
    expect(pace.consecutiveSuccesses).toBe(50)
  })

  it('stays within its bounds and its types whatever happens', () => {
    const events = fc.array(
      fc.record({
        what: fc.constantFrom('grant', 'fast', 'slow', 'degraded', 'rejected'),
        afterMs: fc.integer({ min: -100, max: 5_000 }),
        tookMs: fc.integer({ min: 0, max: 3_000 }),
      }),
      { maxLength: 150 },
    )
    fc.assert(
      fc.property(events, (history) => {
        let at = start
        let pace = initial(config)
        for (const { what, afterMs, tookMs } of history) {
          at += afterMs
          if (what === 'grant') pace = onGrant(pace, at)
          else if (what === 'rejected')
            pace = onSlowDown(pace, seen(at, 'fast', at - tookMs), config)
          else if (what === 'fast' || what === 'slow' || what === 'degraded') {
            pace = onSuccess(pace, seen(at, what, at - tookMs), config)
          }
          expect(pace.ratePerSecond).toBeGreaterThanOrEqual(0.5)
          expect(pace.ratePerSecond).toBeLessThanOrEqual(20)
          expect(pace.backoffMultiplier).toBeGreaterThanOrEqual(1)
          expect(pace.consecutiveSuccesses).toBeGreaterThanOrEqual(0)
          expect(JSON.parse(JSON.stringify(pace))).toEqual(pace)
        }
      }),
    )
  })
})

describe('aimd', () => {
  const config = configFor('aimd')
  const { initial, onSuccess, onSlowDown } = strategies.aimd
  const pace = busy(initial(config))

  it('a fast answer adds a constant, a slow one nothing', () => {
    expect(onSuccess(pace, seen(start, 'fast'), config).ratePerSecond).toBeCloseTo(8.1)
    expect(onSuccess(pace, seen(start, 'slow'), config).ratePerSecond).toBe(8)
  })

  it('a rejection halves the rate', () => {
    expect(onSlowDown(pace, seen(start), config).ratePerSecond).toBe(4)
  })

  it('a degraded answer halves it too, without being a rejection, once per burst', () => {
    const lowered = onSuccess(pace, seen(start, 'degraded'), config)
    expect(lowered.ratePerSecond).toBe(4)
    expect(lowered.rejections).toBe(0)
    const again = onSuccess(lowered, seen(start + 500, 'degraded', start - 1), config)
    expect(again.ratePerSecond).toBe(4)
    const anew = onSuccess(lowered, seen(start + 900, 'degraded', start + 1), config)
    expect(anew.ratePerSecond).toBe(2)
  })
})

describe('multiplier', () => {
  const config = configFor('multiplier')
  const { initial, onSuccess, onSlowDown } = strategies.multiplier
  const rejectedAt = (...times: number[]) =>
    times.reduce((pace, at) => onSlowDown(pace, seen(at), config), initial(config))
  const succeeded = (pace: Pace, times: number) =>
    Array.from({ length: times }, (_, each) => seen(start + each)).reduce(
      (each, answer) => onSuccess(busy(each), answer, config),
      pace,
    )

  it('each rejection divides the configured rate by half as much again', () => {
    expect(rejectedAt(start)).toMatchObject({ backoffMultiplier: 1.5, ratePerSecond: 8 / 1.5 })
    expect(rejectedAt(start, start + 1)).toMatchObject({ backoffMultiplier: 2.25, rejections: 2 })
  })

  it('ten successes in a row take a tenth off the multiplier, nine do not', () => {
    const backedOff = rejectedAt(start)
    expect(succeeded(backedOff, 9)).toMatchObject({
      backoffMultiplier: 1.5,
      consecutiveSuccesses: 9,
    })
    expect(succeeded(backedOff, 10)).toMatchObject({ consecutiveSuccesses: 0 })
    expect(succeeded(backedOff, 10).backoffMultiplier).toBeCloseTo(1.35)
  })

  it('recovers to exactly the configured rate and no further', () => {
    expect(succeeded(rejectedAt(start), 100)).toMatchObject({
      backoffMultiplier: 1,
      ratePerSecond: 8,
    })
  })

  it('does not dig itself in deeper than the slowest rate', () => {
    const times = Array.from({ length: 100 }, (_, each) => start + each)
    expect(rejectedAt(...times)).toMatchObject({ backoffMultiplier: 16, ratePerSecond: 0.5 })
  })
})

describe('cubic', () => {
  const config = configFor('cubic')
  const { initial, onSuccess, onSlowDown } = strategies.cubic
  const lowered = onSlowDown(busy(initial(config)), seen(start), config)
  const eager: Pace = { ...lowered, measuredPerSecond: 1_000 }
  const rateAfter = (seconds: number) =>
    onSuccess(eager, seen(start + seconds * 1_000), config).ratePerSecond
  const plateauS = Math.cbrt((8 * 0.3) / 0.4)

  it('falls to seven tenths of what was really sent', () => {
    expect(lowered.ratePerSecond).toBeCloseTo(5.6)
    expect(lowered.ceilingPerSecond).toBe(8)
    const half = { ...initial(config), measuredPerSecond: 4 }
    expect(onSlowDown(half, seen(start), config).ratePerSecond).toBeCloseTo(2.8)
  })

  it('climbs back to the ceiling, rests there, then looks for a new one', () => {
    expect(rateAfter(0)).toBeCloseTo(5.6)
    expect(rateAfter(plateauS)).toBeCloseTo(8)
    expect(rateAfter(plateauS - 0.5)).toBeCloseTo(8 - 0.05)
    expect(rateAfter(plateauS + 2)).toBeCloseTo(8 + 3.2)
    expect(rateAfter(60)).toBe(20)
  })

  it('a success never lowers the rate', () => {
    expect(onSuccess({ ...eager, ratePerSecond: 7 }, seen(start), config).ratePerSecond).toBe(7)
  })

  it('never jumps past twice what is really sent, however long the silence', () => {
    const modest = { ...lowered, measuredPerSecond: 3 }
    expect(onSuccess(modest, seen(start + 3_600_000), config).ratePerSecond).toBe(6)
  })

  it('before the first rejection it grows by a constant, not without limit', () => {
    const fresh = busy(initial(config))
    expect(onSuccess(fresh, seen(start + 3_600_000), config).ratePerSecond).toBeCloseTo(8.1)
  })
})

describe('fixed', () => {
  it('never changes its rate', () => {
    const config = configFor('fixed')
    const { initial, onSuccess, onSlowDown } = strategies.fixed
    const pace = busy(initial(config))
    expect(onSuccess(pace, seen(start, 'degraded'), config).ratePerSecond).toBe(8)
    expect(onSlowDown(pace, seen(start), config)).toMatchObject({ ratePerSecond: 8, rejections: 1 })
  })
})
