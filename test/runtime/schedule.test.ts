import { describe, expect, it } from 'vitest'
import { dueSubmission, nextInstant, ScheduleRefused } from '../../src/runtime/schedule.ts'

const at = (text: string) => Date.parse(text)

describe('the next instant', () => {
  it.each([
    ['0 6 * * *', 'UTC', '2026-01-01T06:00:00Z', '2026-01-02T06:00:00Z'],
    ['0 6 * * *', 'UTC', '2026-01-01T05:59:59.999Z', '2026-01-01T06:00:00Z'],
    ['0 6 * * 1-5', 'Europe/Berlin', '2026-01-02T05:00:00Z', '2026-01-05T05:00:00Z'],
    ['*/15 * * * *', 'Asia/Kolkata', '2026-01-01T00:00:00Z', '2026-01-01T00:15:00Z'],
    // Six in the morning, before and after the clocks go forward.
    ['0 6 * * *', 'Europe/Berlin', '2026-03-28T05:00:00Z', '2026-03-29T04:00:00Z'],
  ])('of "%s" in %s after %s is %s', (cron, timeZone, after, next) => {
    expect(new Date(nextInstant(cron, timeZone, at(after))).toISOString()).toBe(
      new Date(next).toISOString(),
    )
  })

  it('comes also for an hour that the clocks skip, once', () => {
    const first = nextInstant('30 2 * * *', 'Europe/Berlin', at('2026-03-28T12:00:00Z'))
    const second = nextInstant('30 2 * * *', 'Europe/Berlin', first)
    expect(first).toBeLessThan(second)
    expect(second - first).toBeGreaterThan(20 * 3_600_000)
  })

  it.each([
    ['nonsense', 'UTC'],
    ['', 'UTC'],
    ['99 * * * *', 'UTC'],
    ['0 6 * * *', 'Nowhere/City'],
    // The thirtieth of February.
    ['0 0 30 2 *', 'UTC'],
    ['2020-01-01T00:00:00', 'UTC'],
  ])('of "%s" in %s is refused in words', (cron, timeZone) => {
    expect(() => nextInstant(cron, timeZone, at('2026-01-01'))).toThrow(ScheduleRefused)
  })
})

describe('what is submitted', () => {
  const schedule = {
    name: 'nightly',
    cron: '0 0 * * *',
    timeZone: 'UTC',
    type: 'it',
    body: '{"a":1}',
    domain: '',
    priority: 3,
    isPaused: false,
    nextAt: at('2026-01-02T00:00:00Z'),
    lastAt: null,
  }

  it('has a key that names the instant', () => {
    expect(dueSubmission(schedule)).toEqual({
      type: 'it',
      body: { a: 1 },
      domain: undefined,
      priority: 3,
      key: 'schedule:nightly:2026-01-02T00:00:00.000Z',
    })
  })

  it('cannot be made of a body that is not JSON', () => {
    expect(() => dueSubmission({ ...schedule, body: '{' })).toThrow(ScheduleRefused)
  })
})
