import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decide, type Outcome, pauseEnd, type RetryPolicy } from '../../src/machines/decision.ts'

const policy: RetryPolicy = {
  backoff: { kind: 'exponential', baseMs: 1_000, maxMs: 60_000 },
  pauseMsMax: 5_000,
}
const at = 1_000_000
const error = { code: 'X', message: 'x' }
const stamp = (roll = 0.5) => ({ at, roll })
const attempts = (attempt: number, attemptsMax = 3) => ({ attempt, attemptsMax })

describe('an outcome', () => {
  it.each<Outcome>([
    { kind: 'done', result: { rows: 3 } },
    { kind: 'skipped', reason: 'gone' },
    { kind: 'cancelled' },
  ])('that ends the job is committed as it is: $kind', (outcome) => {
    expect(decide(outcome, attempts(1), policy, stamp())).toEqual(outcome)
  })

  it('that trying again cannot mend ends it, with attempts left', () => {
    const decision = decide({ kind: 'reject', error }, attempts(1), policy, stamp())
    expect(decision).toEqual({ kind: 'failed', error })
  })

  it('of a wait is a lower bound, and one that has passed means now', () => {
    const until = (when: number): Outcome => ({ kind: 'wait', until: when, reason: 'busy' })
    expect(decide(until(at + 9), attempts(3), policy, stamp())).toMatchObject({ runAt: at + 9 })
    expect(decide(until(at - 9), attempts(3), policy, stamp())).toMatchObject({ runAt: at })
  })

  it('of a failure leads to another attempt as long as there is one', () => {
    const retry: Outcome = { kind: 'retry', error }
    expect(decide(retry, attempts(2), policy, stamp())).toEqual({
      ...{ kind: 'requeue', runAt: at + 1_000, error },
    })
    expect(decide(retry, attempts(3), policy, stamp())).toEqual({ kind: 'dead', error })
    expect(decide(retry, attempts(4), policy, stamp())).toEqual({ kind: 'dead', error })
  })

  it('is never decided earlier than the server asked for, however far that is', () => {
    const cases = fc.record({
      attempt: fc.integer({ min: 1, max: 20 }),
      afterMs: fc.integer({ min: 0, max: 400 * 86_400_000 }),
      roll: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    })
    fc.assert(
      fc.property(cases, ({ attempt, afterMs, roll }) => {
        const outcome: Outcome = { kind: 'retry', error, afterMs }
        const decision = decide(outcome, attempts(attempt, 21), policy, stamp(roll))
        expect(decision.kind).toBe('requeue')
        if (decision.kind === 'requeue') expect(decision.runAt).toBeGreaterThanOrEqual(at + afterMs)
      }),
    )
  })
})

describe('a pause', () => {
  const requeue = (runAt: number) => ({ kind: 'requeue', runAt, error }) as const

  it('short enough is waited out here, a longer one in the queue', () => {
    expect(pauseEnd(requeue(at + 5_000), at, policy)).toBe(at + 5_000)
    expect(pauseEnd(requeue(at + 5_001), at, policy)).toBe(null)
    expect(pauseEnd({ kind: 'park', runAt: at, reason: 'busy' }, at, policy)).toBe(at)
  })

  it('is not what an end is', () => {
    expect(pauseEnd({ kind: 'dead', error }, at, policy)).toBe(null)
    expect(pauseEnd({ kind: 'done', result: 1 }, at, policy)).toBe(null)
  })
})
