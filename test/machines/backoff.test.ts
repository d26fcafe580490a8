import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type BackoffPolicy, backoffMs, retryDelayMs } from '../../src/machines/backoff.ts'

const exponential: BackoffPolicy = { kind: 'exponential', baseMs: 200, maxMs: 60_000 }
const schedule: BackoffPolicy = { kind: 'schedule', delaysMs: [5_000, 30_000, 120_000] }
const almostOne = 1 - Number.EPSILON
const rolls = fc.double({ min: 0, max: almostOne, noNaN: true })

describe('exponential', () => {
  it('the range doubles with each attempt up to the maximum', () => {
    const halves = [1, 2, 3, 4, 9, 10, 11].map((attempt) => backoffMs(attempt, exponential, 0.5))
    expect(halves).toEqual([100, 200, 400, 800, 25_600, 30_000, 30_000])
  })

  it('jitter is full: from nothing to the whole range', () => {
    expect(backoffMs(3, exponential, 0)).toBe(0)
    expect(backoffMs(3, exponential, almostOne)).toBe(799)
  })

  it('the delay is always a whole number from 0 to the attempt’s range', () => {
    const sizes = fc.integer({ min: 0, max: 86_400_000 })
    fc.assert(
      fc.property(fc.nat(), sizes, sizes, rolls, (attempt, baseMs, maxMs, roll) => {
        const delayMs = backoffMs(attempt, { kind: 'exponential', baseMs, maxMs }, roll)
        expect(Number.isInteger(delayMs)).toBe(true)
        expect(delayMs).toBeGreaterThanOrEqual(0)
        expect(delayMs).toBeLessThanOrEqual(
          Math.min(maxMs, baseMs * 2 ** Math.max(0, attempt - 1) || 0),
        )
      }),
    )
  })

  it('no number of attempts overflows', () => {
    expect(backoffMs(1_000_000, exponential, 0.5)).toBe(30_000)
    expect(backoffMs(1_000_000, { ...exponential, baseMs: 0 }, 0.5)).toBe(0)
  })
})

describe('schedule', () => {
  it('delays follow the list and the last one repeats', () => {
    const delays = [1, 2, 3, 4, 400].map((attempt) => backoffMs(attempt, schedule, 0.5))
    expect(delays).toEqual([5_000, 30_000, 120_000, 120_000, 120_000])
  })

  it('jitter only lengthens', () => {
    const jittered: BackoffPolicy = { ...schedule, jitterShare: 0.2 }
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10 }), rolls, (attempt, roll) => {
        const plainMs = backoffMs(attempt, schedule, roll)
        const delayMs = backoffMs(attempt, jittered, roll)
        expect(delayMs).toBeGreaterThanOrEqual(plainMs)
        expect(delayMs).toBeLessThanOrEqual(plainMs * 1.2)
      }),
    )
    expect(backoffMs(1, jittered, 0.5)).toBe(5_500)
  })
})

it('before any attempt the delay is that of the first', () => {
  expect(backoffMs(0, exponential, 0.5)).toBe(backoffMs(1, exponential, 0.5))
  expect(backoffMs(0, schedule, 0.5)).toBe(5_000)
})

describe('Retry-After', () => {
  it('is a lower bound that no maximum shortens', () => {
    expect(retryDelayMs(1, exponential, 0.5, 86_400_000)).toBe(86_400_000)
  })

  it('that is shorter than the backoff leaves it alone', () => {
    expect(retryDelayMs(4, exponential, 0.5, 1)).toBe(800)
    expect(retryDelayMs(4, exponential, 0.5, 0)).toBe(800)
    expect(retryDelayMs(4, exponential, 0.5)).toBe(800)
  })
})
