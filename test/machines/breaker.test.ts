import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type BreakerCommand,
  type BreakerContext,
  type BreakerMessage,
  breakerMachine,
} from '../../src/machines/breaker.ts'
import type { Feedback } from '../../src/machines/feedback.ts'
import { type RateLimitConfig, rateLimitConfig } from '../../src/machines/rate-limit-config.ts'
import { HostedMachine, type HostedOptions, START_AT } from './hosted-machine.ts'

type Breaker = HostedMachine<BreakerMessage, BreakerCommand, BreakerContext>

const failures = ['throttled', 'overloaded', 'serverError', 'network'] as const

function breakerWith(
  part: Partial<RateLimitConfig> = {},
  options: HostedOptions<BreakerCommand> = {},
): Breaker {
  return new HostedMachine(breakerMachine(rateLimitConfig(part)), options)
}

const answer = (kind: Feedback['kind'], part: Partial<Feedback> = {}): BreakerMessage => ({
  ...{ type: 'FEEDBACK', id: 'any', kind, latencyMs: 10, retryAfterMs: null, ends: true },
  ...part,
})
const admit = (id: string): BreakerMessage => ({ type: 'ADMIT', id })

function fail(breaker: Breaker, times: number): Breaker {
  for (let each = 0; each < times; each++) breaker.send(answer('serverError'))
  return breaker
}

/** Open after five failures in a row, for five seconds. */
function opened(part: Partial<RateLimitConfig> = {}, options = {}): Breaker {
  const breaker = fail(breakerWith(part, options), 5)
  breaker.take()
  return breaker
}

function halfOpened(part: Partial<RateLimitConfig> = {}): Breaker {
  return opened(part).advance(5_000)
}

describe('closed', () => {
  it('lets everybody pass', () => {
    expect(breakerWith().send(admit('a')).take()).toEqual([
      { type: 'admit', id: 'a', isProbe: false },
    ])
  })

  it.each(failures)('five answers of the kind %s in a row open it, four do not', (kind) => {
    const breaker = breakerWith()
    for (let each = 0; each < 4; each++) breaker.send(answer(kind))
    expect(breaker.state).toBe('closed')
    expect(breaker.send(answer(kind)).state).toBe('open')
    expect(breaker.take()).toEqual([{ type: 'announceOpen', until: START_AT + 5_000 }])
  })

  it('an answer the server was willing to give ends the row', () => {
    const breaker = breakerWith({ minSamplesToTrip: 1_000 })
    for (let each = 0; each < 50; each++) fail(breaker, 4).send(answer('success'))
    expect(breaker.state).toBe('closed')
  })

  it('our own faults never open it, and end the row as any answer does', () => {
    const breaker = breakerWith()
    for (let each = 0; each < 100; each++) breaker.send(answer('clientError'))
    expect(breaker.state).toBe('closed')
    expect(fail(breaker, 4).send(answer('clientError')).context.consecutiveFailures).toBe(0)
  })

  it('a server that says when to come back never opens it', () => {
    const breaker = breakerWith()
    for (let each = 0; each < 100; each++)
      breaker.send(answer('throttled', { retryAfterMs: 60_000 }))
    expect(breaker.state).toBe('closed')
    expect(fail(breaker, 4).state).toBe('closed')
  })

  it('half of ten failing opens it, half of nine does not', () => {
    const breaker = breakerWith({ consecutiveFailThreshold: 100 })
    for (let each = 0; each < 4; each++) breaker.send(answer('network')).send(answer('success'))
    breaker.send(answer('success'))
    expect(breaker.state).toBe('closed')
    expect(breaker.send(answer('network')).state).toBe('open')
  })

  it('what happened a window ago is forgotten', () => {
    const breaker = breakerWith({ consecutiveFailThreshold: 100 })
    fail(breaker, 9).advance(30_000)
    expect(fail(breaker, 1).state).toBe('closed')
    expect(fail(breaker.advance(29_000), 8).state).toBe('closed')
    expect(fail(breaker, 1).state).toBe('open')
  })

  it('opens exactly when the counts say so, whatever the order of answers', () => {
    const kinds = fc.constantFrom<Feedback['kind'][]>('success', 'clientError', ...failures)
    const answers = fc.array(kinds, { maxLength: 120 })
    const settings = fc.record({
      errorRateThreshold: fc.constantFrom(0.04, 0.1, 1 / 3, 0.5, 0.7, 1),
      minSamplesToTrip: fc.constantFrom(1, 10, 50),
      consecutiveFailThreshold: fc.constantFrom(2, 5, 1_000),
    })
    fc.assert(
      fc.property(settings, answers, (part, sequence) => {
        const breaker = breakerWith(part)
        let [row, errors, total] = [0, 0, 0]
        for (const kind of sequence) {
          const isFailure = kind !== 'success' && kind !== 'clientError'
          row = isFailure ? row + 1 : 0
          errors += isFailure ? 1 : 0
          total += 1
          const opens =
            isFailure &&
            (row >= part.consecutiveFailThreshold ||
              (total >= part.minSamplesToTrip && errors / total >= part.errorRateThreshold))
          expect(breaker.send(answer(kind)).state).toBe(opens ? 'open' : 'closed')
          if (opens) break
        }
      }),
    )
  })

  it('four fifths are four fifths: 32 of 40, though 31/39 × 39 is less than 31', () => {
    const breaker = breakerWith({
      ...{ errorRateThreshold: 0.8, minSamplesToTrip: 40, consecutiveFailThreshold: 100 },
    })
    for (let each = 0; each < 8; each++) breaker.send(answer('success'))
    expect(fail(breaker, 31).state).toBe('closed')
    expect(fail(breaker, 1).state).toBe('open')
  })
})

describe('open', () => {
  it('refuses everybody until its deadline, and names it', () => {
    const breaker = opened()
    const refused = { type: 'refuse', id: 'a', until: START_AT + 5_000 }
    expect(breaker.send(admit('a')).take()).toEqual([refused])
    expect(breaker.advance(4_999).send(admit('a')).take()).toEqual([refused])
    expect(breaker.advance(1).state).toBe('halfOpen')
  })

  it('late answers change nothing', () => {
    const breaker = opened()
    const { context } = breaker
    breaker.send(answer('success')).send(answer('network'))
    expect(breaker.context).toEqual(context)
  })

  it.each([
    { downMs: 3_000, state: 'open' },
    { downMs: 6_000, state: 'halfOpen' },
  ])('after a crash and $downMs ms of absence it is $state', ({ downMs, state }) => {
    const breaker = opened().save().crash({ downMs }).advance(0)
    expect(breaker.state).toBe(state)
    expect(breaker.advance(Math.max(0, 5_000 - downMs)).state).toBe('halfOpen')
  })

  it('is never put to sleep', () => {
    expect(opened().save().evict().isHere).toBe(true)
  })

  it('up to a tenth is added by chance, so that domains that failed together part', () => {
    const chances = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    fc.assert(
      fc.property(chances, (roll) => {
        const { dueAt } = opened({}, { chance: () => roll }).context
        expect(dueAt).toBeGreaterThanOrEqual(START_AT + 5_000)
        expect(dueAt).toBeLessThanOrEqual(START_AT + 5_500)
      }),
    )
  })
})

describe('half open', () => {
  it('as many probes pass as the budget holds, the rest are refused without a date', () => {
    const breaker = halfOpened({ halfOpenProbes: 2 })
    for (const id of ['a', 'b', 'c']) breaker.send(admit(id))
    expect(breaker.take()).toEqual([
      { type: 'admit', id: 'a', isProbe: true },
      { type: 'admit', id: 'b', isProbe: true },
      { type: 'refuse', id: 'c', until: null },
    ])
  })

  it('a probe that asks again is the same probe', () => {
    const breaker = halfOpened({ halfOpenProbes: 2 }).send(admit('a')).send(admit('a'))
    expect(breaker.context.probes).toHaveLength(1)
    expect(breaker.take()).toHaveLength(2)
  })

  it('enough successes close it, forget what was counted and ask for a slow start', () => {
    const breaker = halfOpened({ halfOpenProbes: 2 })
    for (const id of ['a', 'b']) breaker.send(admit(id))
    breaker.take()
    expect(breaker.send(answer('success', { id: 'a' })).state).toBe('halfOpen')
    expect(breaker.send(answer('clientError', { id: 'b' })).state).toBe('closed')
    expect(breaker.take()).toEqual([{ type: 'slowStart' }])
    expect(fail(breaker, 4).state).toBe('closed')
  })

  it('the first failure opens it again, each time for twice as long up to the maximum', () => {
    const breaker = opened({ openStateMs: 5_000, openStateMsMax: 30_000 })
    const openMs = [breaker.context.dueAt! - breaker.now]
    for (let each = 0; each < 4; each++) {
      breaker
        .advance(openMs.at(-1)!)
        .send(admit('a'))
        .send(answer('network', { id: 'a' }))
      expect(breaker.state).toBe('open')
      openMs.push(breaker.context.dueAt! - breaker.now)
    }
    expect(openMs).toEqual([5_000, 10_000, 20_000, 30_000, 30_000])
  })

  it('once it has closed, the next time is short again', () => {
    const breaker = halfOpened({ halfOpenProbes: 1 }).send(admit('a'))
    breaker
      .send(answer('network', { id: 'a' }))
      .advance(10_000)
      .send(admit('b'))
    expect(breaker.send(answer('success', { id: 'b' })).state).toBe('closed')
    expect(fail(breaker, 5).context.dueAt).toBe(breaker.now + 5_000)
  })

  it('answers to requests that are no probes say nothing', () => {
    const breaker = halfOpened().send(admit('a'))
    breaker.send(answer('network', { id: 'old' })).send(answer('success', { id: 'older' }))
    expect(breaker.state).toBe('halfOpen')
    expect(breaker.context).toMatchObject({ probesSucceeded: 0, probes: [{ id: 'a' }] })
  })

  it('a probe told to wait has neither failed nor succeeded: its part comes back', () => {
    const breaker = halfOpened({ halfOpenProbes: 1 }).send(admit('a'))
    breaker.send(answer('throttled', { id: 'a', retryAfterMs: 1_000 }))
    expect(breaker.state).toBe('halfOpen')
    expect(breaker.context).toMatchObject({ probes: [], probesSucceeded: 0 })
  })

  it('a probe that was given up, or got lost, gives its part back', () => {
    const breaker = halfOpened({ halfOpenProbes: 1, permitMs: 20_000 }).send(admit('a'))
    breaker.send({ type: 'ABANDONED', id: 'a' }).send(admit('b')).take()
    expect(breaker.advance(19_999).send(admit('c')).take()).toMatchObject([{ type: 'refuse' }])
    expect(breaker.advance(1).send(admit('c')).take()).toMatchObject([{ type: 'admit', id: 'c' }])
  })

  it('with nobody asking it may be put to sleep, with a probe under way it may not', () => {
    expect(halfOpened().send(admit('a')).save().evict().isHere).toBe(true)
    const breaker = halfOpened().save().evict()
    expect(breaker.isHere).toBe(false)
    expect(breaker.restart().state).toBe('halfOpen')
  })

  it('never more probes than the budget, whatever happens in whatever order', () => {
    const ids = fc.constantFrom('a', 'b', 'c', 'd', 'e')
    const happenings = fc.array(
      fc.oneof(
        { weight: 4, arbitrary: ids.map(admit) },
        {
          weight: 4,
          arbitrary: fc
            .tuple(ids, fc.constantFrom('success', 'success', 'success', 'network'))
            .map(([id, kind]) => answer(kind, { id })),
        },
        { weight: 1, arbitrary: ids.map((id) => answer('throttled', { id, retryAfterMs: 9 })) },
        { weight: 1, arbitrary: ids.map((id): BreakerMessage => ({ type: 'ABANDONED', id })) },
        { weight: 3, arbitrary: fc.nat({ max: 4_000 }) },
        { weight: 1, arbitrary: fc.constant('crash' as const) },
      ),
      { maxLength: 100 },
    )
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), happenings, (halfOpenProbes, sequence) => {
        // Kept from outside, for the half-open period there is now: probes let through and not ended.
        const underWay = new Map<string, number>()
        let succeeded = 0
        const breaker: Breaker = breakerWith(
          { halfOpenProbes, permitMs: 3_000, consecutiveFailThreshold: 2, openStateMs: 500 },
          {
            perform: (command, at) => {
              if (command.type === 'admit' && command.isProbe && !underWay.has(command.id))
                underWay.set(command.id, at + 3_000)
            },
          },
        )
        fail(breaker, 2).advance(500)
        for (const happening of sequence) {
          breaker.save()
          const wasProbe = typeof happening === 'object' && 'id' in happening
          const isProbe = wasProbe && underWay.has(happening.id)
          if (typeof happening === 'number') breaker.advance(happening)
          else if (happening === 'crash') breaker.crash()
          else breaker.send(happening)
          if (isProbe && happening.type !== 'ADMIT') underWay.delete(happening.id)
          if (isProbe && happening.type === 'FEEDBACK' && happening.kind === 'success') succeeded++
          for (const [id, until] of underWay) if (until <= breaker.now) underWay.delete(id)
          if (breaker.state !== 'halfOpen') {
            underWay.clear()
            succeeded = 0
          }
          expect(breaker.crashes).toEqual([])
          expect(underWay.size + succeeded).toBeLessThanOrEqual(halfOpenProbes)
          if (breaker.state === 'halfOpen') {
            expect(breaker.context.probes.map(({ id }) => id)).toEqual([...underWay.keys()])
            expect(breaker.context.probesSucceeded).toBe(succeeded)
          }
        }
      }),
      { numRuns: 400 },
    )
  })
})

describe('told from outside', () => {
  it('a breaker opened by another node stays open as long as that one', () => {
    const breaker = breakerWith().send({ type: 'TRIPPED', until: START_AT + 9_000 })
    expect(breaker.state).toBe('open')
    expect(breaker.take()).toEqual([])
    expect(breaker.advance(8_999).state).toBe('open')
    expect(breaker.advance(1).state).toBe('halfOpen')
  })

  it('of two deadlines the later counts', () => {
    const breaker = opened()
    breaker.send({ type: 'TRIPPED', until: START_AT + 2_000 })
    expect(breaker.context.dueAt).toBe(START_AT + 5_000)
    breaker.send({ type: 'TRIPPED', until: START_AT + 8_000 })
    expect(breaker.context.dueAt).toBe(START_AT + 8_000)
  })

  it('a failed probe of another node opens it here, and lets no probe of ours go on', () => {
    const breaker = halfOpened().send(admit('a'))
    breaker.send({ type: 'TRIPPED', until: breaker.now + 1_000 })
    expect(breaker.state).toBe('open')
    expect(breaker.context.probes).toEqual([])
  })

  it.each([
    { from: 'closed', make: () => fail(breakerWith(), 4) },
    { from: 'open', make: () => opened() },
    { from: 'halfOpen', make: () => halfOpened().send(admit('a')) },
  ])('an operator closes it from $from and has everything forgotten', ({ from, make }) => {
    const breaker = make()
    expect(breaker.state).toBe(from)
    expect(breaker.send({ type: 'RESET' }).state).toBe('closed')
    expect(fail(breaker, 4).state).toBe('closed')
    expect(fail(breaker, 1).context.dueAt).toBe(breaker.now + 5_000)
  })
})
