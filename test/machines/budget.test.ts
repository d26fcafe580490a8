import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Budget,
  emptyBudget,
  type Flow,
  hasToken,
  refilled,
  take,
  waitMs,
} from '../../src/machines/budget.ts'

const start = 1_800_000_000_000
const flow = (ratePerSecond: number, capacity = 2): Flow => ({
  ratePerSecond,
  capacity,
  ramp: null,
})

describe('filling', () => {
  it('tokens arrive at the rate', () => {
    expect(refilled(emptyBudget(start), flow(3), start + 500).tokens).toBe(1.5)
  })

  it('a full budget gets no fuller', () => {
    expect(refilled(emptyBudget(start), flow(3), start + 3_600_000).tokens).toBe(2)
  })

  it('a rate is what its decimals say, not what binary makes of them', () => {
    expect(refilled(emptyBudget(start), flow(2.01, 300), start + 100_000).tokens).toBe(201)
    expect(refilled(emptyBudget(start), flow(0.29, 300), start + 100_000).tokens).toBe(29)
  })

  it('a rate with more decimals than are counted is rounded down', () => {
    const overADay = refilled(emptyBudget(start), flow(2.9999999, 1e6), start + 100_000_000)
    expect(overADay.tokens).toBeLessThan(2.9999999 * 100_000)
  })

  it('a thousand small refills give as much as a single large one', () => {
    let budget = emptyBudget(start)
    for (let ms = 1; ms <= 1_000; ms += 1) budget = refilled(budget, flow(0.1), start + ms)
    expect(budget.tokens).toBe(0.1)
  })

  it('a clock that goes back adds nothing, and nothing twice when it returns', () => {
    const half = refilled(emptyBudget(start), flow(1), start + 500)
    expect(refilled(half, flow(1), start - 3_600_000)).toEqual(half)
    expect(refilled(refilled(half, flow(1), start), flow(1), start + 700).tokens).toBe(0.7)
  })

  it('a fraction of a millisecond is dropped', () => {
    expect(refilled(emptyBudget(start + 0.9), flow(1), start + 1.8)).toEqual({
      tokens: 0.001,
      refilledAt: start + 1,
    })
  })
})

describe('taking', () => {
  it('costs one token', () => {
    expect(take({ tokens: 1.3, refilledAt: start })).toEqual({ tokens: 0.3, refilledAt: start })
  })

  it('what is not there cannot be taken', () => {
    expect(() => take({ tokens: 0.999999999, refilledAt: start })).toThrow('hasToken')
  })
})

describe('waiting', () => {
  it.each([
    [1, 1_000],
    [3, 334],
    [10, 100],
    [0.29, 3_449],
    [0.1, 10_000],
    [1_000, 1],
  ])('at %d a second an empty budget has a token after %d ms', (rate, ms) => {
    expect(waitMs(emptyBudget(start), flow(rate), start)).toBe(ms)
  })

  it('a token at hand needs no waiting', () => {
    expect(waitMs({ tokens: 1, refilledAt: start }, flow(1), start)).toBe(0)
    expect(waitMs(emptyBudget(start), flow(1), start + 1_000)).toBe(0)
  })

  it('after a clock went back the wait includes its catching up', () => {
    expect(waitMs(emptyBudget(start), flow(1), start - 400)).toBe(1_400)
  })

  it('a rate of nothing means waiting for ever, as a number', () => {
    expect(waitMs(emptyBudget(start), flow(0), start)).toBe(Number.MAX_SAFE_INTEGER)
  })
})

describe('slow start', () => {
  const ramp = { from: start, until: start + 10_000, share: 0.2 }
  const rising: Flow = { ratePerSecond: 1, capacity: 100, ramp }

  it('the rate climbs in a straight line to its full height', () => {
    const at = (ms: number) => refilled(emptyBudget(start), rising, start + ms).tokens
    expect(at(1_000)).toBeCloseTo(0.2 + 0.08 / 2, 6)
    expect(at(10_000)).toBeCloseTo(6, 6)
    expect(at(15_000)).toBeCloseTo(11, 6)
  })

  it('refilling along the way gives as much as refilling at the end', () => {
    let budget = emptyBudget(start)
    for (let ms = 100; ms <= 12_000; ms += 100) budget = refilled(budget, rising, start + ms)
    expect(budget.tokens).toBeCloseTo(8, 6)
  })

  it('refilling at every millisecond gives nothing extra', () => {
    let budget = emptyBudget(start)
    for (let ms = 1; ms <= 12_000; ms += 1) budget = refilled(budget, rising, start + ms)
    expect(budget.tokens).toBeLessThanOrEqual(8)
    expect(budget.tokens).toBeCloseTo(8, 4)
  })

  it('once over, it changes nothing', () => {
    const late = emptyBudget(start + 10_000)
    expect(refilled(late, rising, start + 10_750)).toEqual(
      refilled(late, { ...rising, ramp: null }, start + 10_750),
    )
    expect(waitMs(late, rising, start + 10_000)).toBe(1_000)
  })

  it('a ramp of no length is no ramp', () => {
    const flat = { ...rising, ramp: { from: start, until: start, share: 0.2 } }
    expect(refilled(emptyBudget(start - 500), flat, start + 500).tokens).toBe(1)
  })
})

describe('for any schedule', () => {
  const rates = fc.oneof(
    fc.double({ min: 0.0001, max: 100_000, noNaN: true }),
    fc.constantFrom(0.1, 0.29, 1 / 3, 1, 1.1, 2.01, 2.9999999, 3, 7, 1_000),
  )
  const capacities = fc.oneof(
    fc.integer({ min: 1, max: 20 }),
    fc.double({ min: 1, max: 20, noNaN: true }),
  )
  const ramps = fc.option(
    fc.record({
      from: fc.integer({ min: start - 5_000, max: start + 5_000 }),
      until: fc.integer({ min: start - 5_000, max: start + 60_000 }),
      share: fc.double({ min: 0.01, max: 1, noNaN: true }),
    }),
  )
  const flows = fc.record({ ratePerSecond: rates, capacity: capacities, ramp: ramps })
  // Steps of zero, steps backwards, and "as long as I was told to wait" among ordinary ones.
  const steps = fc.array(
    fc.oneof(
      fc.integer({ min: -50, max: 400 }),
      fc.integer({ min: 0, max: 3 }),
      fc.constant('asTold' as const),
    ),
    { minLength: 1, maxLength: 120 },
  )

  it('tokens stay between nothing and the capacity', () => {
    fc.assert(
      fc.property(flows, steps, (each, schedule) => {
        for (const { budget, at } of played(each, schedule)) {
          expect(budget.tokens).toBeGreaterThanOrEqual(0)
          const rested = refilled(budget, each, at + 3_600_000)
          expect(rested.tokens).toBeLessThanOrEqual(each.capacity)
        }
      }),
    )
  })

  it('whoever waits as told finds a token', () => {
    fc.assert(
      fc.property(flows, steps, (each, schedule) => {
        for (const { budget, at } of played(each, schedule)) {
          const ms = waitMs(budget, each, at)
          expect(hasToken(refilled(budget, each, at + ms))).toBe(true)
          if (ms > 0) expect(hasToken(refilled(budget, each, at + ms - 1))).toBe(false)
        }
      }),
    )
  })

  it('grants in any window number at most rate × window + capacity, to the last digit', () => {
    fc.assert(
      fc.property(flows, steps, (each, schedule) => {
        const grants = played(each, schedule)
          .filter(({ granted }) => granted)
          .map(({ latestAt }) => latestAt)
        // Whole numbers throughout, so that the bound itself is not rounded.
        const rounded = Number(each.ratePerSecond.toFixed(6))
        const millionths = BigInt(
          Math.round(rounded * 1e6) - (rounded > each.ratePerSecond ? 1 : 0),
        )
        const billionths = BigInt(Math.floor(each.capacity * 1e9))
        for (const [first, from] of grants.entries()) {
          for (const [last, to] of grants.entries()) {
            if (last < first) continue
            const allowed = millionths * BigInt(to - from) + billionths
            expect(BigInt(last - first + 1) * 1_000_000_000n <= allowed).toBe(true)
          }
        }
      }),
      { numRuns: 300 },
    )
  })
})

interface Played {
  readonly budget: Budget
  readonly at: number
  /** The time as far as the clock had ever come: going back is no licence. */
  readonly latestAt: number
  readonly granted: boolean
}

/** A caller as greedy as can be: takes a token at every step that has one. */
function played(each: Flow, schedule: readonly (number | 'asTold')[]): Played[] {
  let at = start
  let latestAt = start
  let budget = emptyBudget(start)
  return schedule.map((step) => {
    at += step === 'asTold' ? waitMs(budget, each, at) : step
    latestAt = Math.max(latestAt, at)
    budget = refilled(budget, each, at)
    const granted = hasToken(budget)
    if (granted) budget = take(budget)
    return { budget, at, latestAt, granted }
  })
}
