import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  emptyWindow,
  errorRate,
  record,
  total,
  type WindowSeries,
  windowSeries,
} from '../../src/machines/window.ts'

const config = { statsWindowMs: 30_000, statsBucketMs: 2_000 }
const start = 1_800_000_000_000

describe('a window', () => {
  it('counts each series by itself', () => {
    const window = emptyWindow()
    record(window, 'total', start, config)
    record(window, 'total', start + 1, config)
    record(window, 'throttled', start + 1, config)
    const counted = windowSeries.map((series) => total(window, series, start + 2, config))
    expect(counted).toEqual([2, 1, 0, 0])
  })

  it('forgets what is older than its length, without being told', () => {
    const window = emptyWindow()
    record(window, 'total', start, config)
    record(window, 'total', start + 16_000, config)
    expect(total(window, 'total', start + 29_999, config)).toBe(2)
    expect(total(window, 'total', start + 30_000, config)).toBe(1)
    expect(total(window, 'total', start + 46_000, config)).toBe(0)
  })

  it('is not changed by being read', () => {
    const window = emptyWindow()
    record(window, 'total', start, config)
    const before = JSON.stringify(window)
    total(window, 'total', start + 60_000, config)
    expect(JSON.stringify(window)).toBe(before)
  })

  it('starts anew after a gap longer than itself', () => {
    const window = emptyWindow()
    record(window, 'total', start, config)
    record(window, 'total', start + 3_600_000, config)
    expect(total(window, 'total', start + 3_600_000, config)).toBe(1)
  })

  it('a clock that goes back a little miscounts nothing', () => {
    const window = emptyWindow()
    record(window, 'total', start + 10_000, config)
    record(window, 'total', start, config)
    expect(total(window, 'total', start + 10_000, config)).toBe(2)
    expect(total(window, 'total', start, config)).toBe(2)
    expect(total(window, 'total', start + 30_000, config)).toBe(1)
  })

  it('a clock set back by an hour does not keep old counts for an hour', () => {
    const window = emptyWindow()
    record(window, 'total', start, config)
    expect(total(window, 'total', start - 3_600_000, config)).toBe(0)
    record(window, 'total', start - 3_600_000, config)
    expect(total(window, 'total', start - 3_600_000, config)).toBe(1)
  })

  it('a clock set back by exactly a window starts it anew', () => {
    const window = emptyWindow()
    record(window, 'total', start, config)
    record(window, 'total', start - 30_000, config)
    expect(total(window, 'total', start - 30_000, config)).toBe(1)
  })

  it('costs next to nothing until something happens, and then stays the same size', () => {
    const window = emptyWindow()
    expect(JSON.stringify(window).length).toBeLessThan(32)
    record(window, 'total', start, config)
    const { counts } = window
    for (let ms = 0; ms < 100_000; ms += 700) record(window, 'total', start + ms, config)
    expect(window.counts).toBe(counts)
    expect(counts).toHaveLength(15 * windowSeries.length)
  })

  it('goes on where it stood when read back from JSON', () => {
    const window = emptyWindow()
    record(window, 'total', start, config)
    const copy = JSON.parse(JSON.stringify(window))
    record(copy, 'total', start + 4_000, config)
    expect(total(copy, 'total', start + 4_000, config)).toBe(2)
    expect(total(window, 'total', start + 4_000, config)).toBe(1)
  })

  it('counted under another configuration is started anew', () => {
    const window = emptyWindow()
    record(window, 'total', start, { statsWindowMs: 10_000, statsBucketMs: 1_000 })
    expect(total(window, 'total', start, config)).toBe(0)
    record(window, 'total', start, config)
    expect(total(window, 'total', start, config)).toBe(1)
  })
})

describe('the error rate', () => {
  it('is the share of throttled, failed and unreachable', () => {
    const window = emptyWindow()
    for (let each = 0; each < 8; each += 1) record(window, 'total', start, config)
    const errors: WindowSeries[] = ['throttled', 'serverErrors', 'networkErrors']
    for (const series of errors) record(window, series, start, config)
    expect(errorRate(window, start, config)).toBe(3 / 8)
  })

  it('of nothing is nothing', () => {
    expect(errorRate(emptyWindow(), start, config)).toBe(0)
  })
})

describe('for any history', () => {
  const sizes = fc.record({
    rows: fc.integer({ min: 1, max: 20 }),
    bucketMs: fc.integer({ min: 1, max: 50 }),
  })
  const series = fc.constantFrom(...windowSeries)
  const events = (min: number) =>
    fc.array(fc.record({ series, afterMs: fc.integer({ min, max: 200 }) }), { maxLength: 80 })

  it('totals equal a list of everything that happened, filtered', () => {
    fc.assert(
      fc.property(sizes, events(0), ({ rows, bucketMs }, history) => {
        const each = { statsWindowMs: rows * bucketMs, statsBucketMs: bucketMs }
        const window = emptyWindow()
        const list: { bucket: number; series: WindowSeries }[] = []
        let at = start
        for (const event of history) {
          at += event.afterMs
          const bucket = Math.floor(at / bucketMs)
          record(window, event.series, at, each)
          list.push({ bucket, series: event.series })
          for (const name of windowSeries) {
            const recent = list.filter((one) => one.series === name && one.bucket > bucket - rows)
            expect(total(window, name, at, each)).toBe(recent.length)
          }
        }
      }),
    )
  })

  it('a jumping clock never makes a total negative, larger than what happened, or less than JSON', () => {
    fc.assert(
      fc.property(sizes, events(-300), ({ rows, bucketMs }, history) => {
        const each = { statsWindowMs: rows * bucketMs, statsBucketMs: bucketMs }
        const window = emptyWindow()
        let at = 0
        for (const [before, event] of history.entries()) {
          at += event.afterMs
          record(window, event.series, at, each)
          const counted = total(window, event.series, at, each)
          expect(counted).toBeGreaterThanOrEqual(1)
          expect(counted).toBeLessThanOrEqual(before + 1)
          expect(JSON.parse(JSON.stringify(window))).toEqual(window)
        }
      }),
    )
  })
})
