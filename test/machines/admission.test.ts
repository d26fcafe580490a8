import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Admission,
  grantableAt,
  isGrantable,
  isKnown,
  kept,
  queued,
  served,
  withdrawn,
} from '../../src/machines/admission.ts'
import { initialPace } from '../../src/machines/pace.ts'
import { type RateLimitConfig, rateLimitConfig } from '../../src/machines/rate-limit-config.ts'

const start = 1_800_000_000_000
const config = rateLimitConfig({ strategy: 'fixed', initialRps: 2, tokenBucketCapacity: 2 })

function admission(part: Partial<Admission> = {}): Admission {
  return {
    budget: { tokens: 0, refilledAt: start },
    pace: initialPace(config),
    ramp: null,
    waiters: [],
    permits: [],
    notBefore: null,
    lastGrantAt: null,
    dueAt: null,
    ...part,
  }
}

const full = { tokens: 2, refilledAt: start }
const permit = (id: string, until = start + 60_000) => ({ id, grantedAt: start, until })

describe('the earliest grant', () => {
  it('waits for the token, the distance and the server, whichever is last', () => {
    expect(grantableAt(admission({ budget: full }), start, config)).toBe(start)
    expect(grantableAt(admission(), start, config)).toBe(start + 500)
    const spaced = { ...config, minDelayMs: 900 }
    expect(grantableAt(admission({ lastGrantAt: start }), start, spaced)).toBe(start + 900)
    const cooling = admission({ lastGrantAt: start, notBefore: start + 7_000 })
    expect(grantableAt(cooling, start, spaced)).toBe(start + 7_000)
  })

  it('has no date while every place is taken', () => {
    const permits = ['a', 'b', 'c', 'd'].map((id) => permit(id))
    expect(grantableAt(admission({ budget: full, permits }), start, config)).toBe(null)
  })

  it('is a time at which it can be granted, and no earlier one is', () => {
    const cases = fc.record({
      tokens: fc.integer({ min: 0, max: 2_000_000_000 }).map((billionths) => billionths / 1e9),
      rate: fc.double({ min: 0.01, max: 500, noNaN: true }),
      minDelayMs: fc.nat({ max: 3_000 }),
      grantedMsAgo: fc.option(fc.nat({ max: 3_000 })),
      coolMs: fc.option(fc.integer({ min: 1, max: 9_000 })),
      rampMs: fc.option(fc.integer({ min: 1, max: 9_000 })),
      at: fc.double({ min: start, max: start + 4_000, noNaN: true }),
    })
    fc.assert(
      fc.property(cases, ({ tokens, rate, minDelayMs, grantedMsAgo, coolMs, rampMs, at }) => {
        const settings: RateLimitConfig = { ...config, minDelayMs }
        const before = admission({
          budget: { tokens, refilledAt: start },
          pace: { ...initialPace(config), ratePerSecond: rate },
          lastGrantAt: grantedMsAgo === null ? null : start - grantedMsAgo,
          notBefore: coolMs === null ? null : start + coolMs,
          ramp: rampMs === null ? null : { from: start, until: start + rampMs, share: 0.3 },
        })
        const earliest = grantableAt(before, at, settings)!
        expect(isGrantable(before, earliest, settings)).toBe(true)
        if (earliest > at) expect(isGrantable(before, earliest - 1, settings)).toBe(false)
      }),
    )
  })
})

describe('serving', () => {
  const waiting = (...ids: string[]) =>
    ids.reduce((each, id) => queued(each, { id }, start, config), admission({ budget: full }))

  it('grants as many as it can and says when to look again', () => {
    const { next, commands } = served(waiting('a', 'b', 'c'), start, config)
    expect(commands.map(({ type, id }) => `${type} ${id}`)).toEqual(['grant a', 'grant b'])
    expect(next.dueAt).toBe(start + 500)
  })

  it('with nothing to wait for has no deadline', () => {
    expect(served(admission({ dueAt: 1 }), start, config).next.dueAt).toBe(null)
  })

  it('a late look refuses those whose time has passed before it grants', () => {
    const { commands } = served(waiting('a', 'b'), start + config.waitMsMax + 1, config)
    expect(commands.map(({ type }) => type)).toEqual(['refuse', 'refuse'])
  })

  it('at the very end of its time a waiter is still granted, if it can be', () => {
    const { commands } = served(waiting('a'), start + config.waitMsMax, config)
    expect(commands.map(({ type }) => type)).toEqual(['grant'])
  })

  it('paused, takes back what has run out and grants nothing', () => {
    const before = { ...waiting('a'), permits: [permit('p', start + 10)] }
    const { next, commands } = kept(before, start + 10, config)
    expect(commands).toEqual([{ type: 'reclaim', id: 'p' }])
    expect(next.waiters).toHaveLength(1)
    expect(next.dueAt).toBe(start + config.waitMsMax)
  })
})

it('an id is known as long as it waits or holds, and withdrawing another changes nothing', () => {
  const before = admission({
    permits: [permit('p')],
    waiters: queued(admission(), { id: 'w' }, start, config).waiters,
  })
  expect(['p', 'w', 'x'].map((id) => isKnown(before, id))).toEqual([true, true, false])
  expect(withdrawn(before, 'x')).toEqual(before)
  const emptied = withdrawn(withdrawn(before, 'p'), 'w')
  expect([emptied.permits, emptied.waiters]).toEqual([[], []])
})
