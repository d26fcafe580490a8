import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  initialLatency,
  isDegraded,
  observe,
  p95,
  speedOf,
  targetMs,
} from '../../src/machines/latency.ts'
import { rateLimitConfig } from '../../src/machines/rate-limit-config.ts'

const config = rateLimitConfig({ latencyTargetMs: 1_000, latencyDegradeFactor: 2 })

const observed = (...durations: number[]) => {
  const latency = initialLatency(config)
  for (const ms of durations) observe(latency, ms, config)
  return latency
}
const repeated = (ms: number, times: number) => observed(...Array<number>(times).fill(ms))

describe('the moving average', () => {
  it('starts at the initial target and moves a fifth of the way with each answer', () => {
    expect(observed(2_000).ewmaMs).toBe(1_200)
    expect(observed(2_000, 200).ewmaMs).toBe(1_000)
  })

  it('stays within the durations seen and the initial target', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 100_000 })), (durations) => {
        const { ewmaMs } = observed(...durations)
        const slack = 1e-6
        expect(ewmaMs).toBeGreaterThanOrEqual(Math.min(1_000, ...durations) - slack)
        expect(ewmaMs).toBeLessThanOrEqual(Math.max(1_000, ...durations) + slack)
      }),
    )
  })
})

describe('the target', () => {
  it('follows the average of a host that is a little slower', () => {
    expect(targetMs(repeated(1_500, 100), config)).toBeCloseTo(1_500)
  })

  it('does not become stricter than the initial expectation', () => {
    expect(targetMs(repeated(10, 100), config)).toBe(1_000)
  })

  it('does not get used to a host that is far too slow', () => {
    expect(targetMs(repeated(60_000, 100), config)).toBe(2_000)
  })
})

describe('a single answer', () => {
  it.each([
    [999, 'fast'],
    [1_000, 'slow'],
    [1_999, 'slow'],
    [2_000, 'degraded'],
  ])('of %d ms is %s when one second is usual', (ms, speed) => {
    expect(speedOf(initialLatency(config), ms, config)).toBe(speed)
    expect(isDegraded(initialLatency(config), ms, config)).toBe(speed === 'degraded')
  })
})

describe('the 95th percentile', () => {
  it('is unknown before the first answer', () => {
    expect(p95(initialLatency(config))).toBeNull()
  })

  it('of a single answer is that answer', () => {
    expect(p95(observed(17))).toBe(17)
  })

  it('covers the latest 64 answers only', () => {
    const latency = repeated(9_000, 64)
    for (let each = 1; each <= 64; each += 1) observe(latency, each, config)
    expect(p95(latency)).toBe(61)
  })

  it('equals sorting the latest answers by hand', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat({ max: 60_000 }), { minLength: 1, maxLength: 200 }),
        (durations) => {
          const latest = durations.slice(-64)
          const value = p95(observed(...durations)) ?? -1
          const share = latest.filter((ms) => ms <= value).length / latest.length
          const shareBelow = latest.filter((ms) => ms < value).length / latest.length
          expect(latest).toContain(value)
          expect(share).toBeGreaterThanOrEqual(0.95)
          expect(shareBelow).toBeLessThan(0.95)
        },
      ),
    )
  })
})

it('the ring grows no further than configured, also when the configuration shrinks', () => {
  const latency = repeated(5, 500)
  expect(latency.samplesMs).toHaveLength(64)
  const smaller = rateLimitConfig({ latencySamplesMax: 8 })
  for (let each = 0; each < 8; each += 1) observe(latency, 7, smaller)
  expect(latency.samplesMs).toEqual(Array(8).fill(7))
  expect(JSON.parse(JSON.stringify(latency))).toEqual(latency)
})
