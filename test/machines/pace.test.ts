import { expect, it } from 'vitest'
import { initialPace, onGrant, usesItsRate } from '../../src/machines/pace.ts'
import { rateLimitConfig } from '../../src/machines/rate-limit-config.ts'

const start = 1_800_000_000_000
const fresh = initialPace(rateLimitConfig({ initialRps: 2, minRps: 0.1, maxRps: 100 }))

const metered = (everyMs: number, grants: number, pace = fresh) => {
  let each = pace
  for (let grant = 0; grant < grants; grant += 1) each = onGrant(each, start + grant * everyMs)
  return each
}

it.each([
  [10_000, 0.1],
  [1_000, 1],
  [250, 4],
  [10, 100],
])('a permit every %d ms is measured as %d a second', (everyMs, perSecond) => {
  const pace = metered(everyMs, Math.ceil(20_000 / everyMs) + 10)
  expect(pace.measuredPerSecond).toBeCloseTo(perSecond, 1)
})

it('a caller who takes half its rate or less does not use it', () => {
  expect(usesItsRate(metered(500, 40))).toBe(true)
  expect(usesItsRate(metered(1_000, 40))).toBe(false)
  expect(usesItsRate(fresh)).toBe(false)
})

it('a pause lowers the measured rate with the first permit after it', () => {
  const busy = metered(100, 100)
  expect(busy.measuredPerSecond).toBeCloseTo(10, 0)
  expect(onGrant(busy, start + 600_000).measuredPerSecond).toBeLessThan(2.1)
})

it('a clock that goes back neither spoils the reading nor stops the meter', () => {
  const busy = metered(100, 100)
  const back = onGrant(busy, start - 3_600_000)
  expect(back.measuredPerSecond).toBe(busy.measuredPerSecond)
  const later = onGrant(onGrant(back, start - 3_599_900), start - 3_599_500)
  expect(later.measuredPerSecond).toBeLessThan(busy.measuredPerSecond)
})

it('everything learned survives JSON', () => {
  const pace = metered(100, 7)
  expect(JSON.parse(JSON.stringify(pace))).toEqual(pace)
})
