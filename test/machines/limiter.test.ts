import { describe, expect, it } from 'vitest'
import type { Feedback } from '../../src/machines/feedback.ts'
import {
  type LimiterCommand,
  type LimiterContext,
  type LimiterMessage,
  limiterMachine,
} from '../../src/machines/limiter.ts'
import { type RateLimitConfig, rateLimitConfig } from '../../src/machines/rate-limit-config.ts'
import { HostedMachine, type HostedOptions, START_AT } from './hosted-machine.ts'

type Limiter = HostedMachine<LimiterMessage, LimiterCommand, LimiterContext>

const steady = { strategy: 'fixed', initialRps: 1, tokenBucketCapacity: 2 } as const

function limiterWith(
  part: Partial<RateLimitConfig>,
  options: HostedOptions<LimiterCommand> = {},
): Limiter {
  return new HostedMachine(limiterMachine(rateLimitConfig({ ...steady, ...part })), options)
}

const ask = (id: string, rest: { priority?: number; waitMs?: number } = {}): LimiterMessage => ({
  ...{ type: 'ACQUIRE', id },
  ...rest,
})
const answer = (id: string, part: Partial<Feedback> = {}): LimiterMessage => ({
  ...{ type: 'FEEDBACK', id, kind: 'success', latencyMs: 10, retryAfterMs: null, ends: true },
  ...part,
})
const released = (id: string): LimiterMessage => ({ type: 'RELEASED', id })
const heard = (limiter: Limiter) => limiter.take().map(({ type, id }) => `${type} ${id}`)

describe('granting', () => {
  it('begins with nothing saved up: the first waits for its token', () => {
    const limiter = limiterWith({}).send(ask('a'))
    expect(limiter.advance(999).take()).toEqual([])
    expect(limiter.state).toBe('pacing')
    const until = START_AT + 1_000 + 120_000
    expect(limiter.advance(1).take()).toEqual([{ type: 'grant', id: 'a', until, waitedMs: 1_000 }])
    expect(limiter.state).toBe('flowing')
  })

  it('who knows that the domain has rested may begin with tokens', () => {
    const limiter = limiterWith({ minDelayMs: 0 }, { input: { tokens: 2 } })
    limiter.send(ask('a')).send(ask('b')).send(ask('c'))
    expect(heard(limiter)).toEqual(['grant a', 'grant b'])
  })

  it('a domain that rests saves up no more than the bucket holds', () => {
    const limiter = limiterWith({}).advance(3_600_000)
    for (const id of ['a', 'b', 'c']) limiter.send(ask(id))
    expect(heard(limiter)).toEqual(['grant a', 'grant b'])
  })

  it('asking again with the same id repeats the grant and costs nothing', () => {
    const limiter = limiterWith({}).advance(2_000).send(ask('a'))
    const granted = limiter.take()
    const { budget } = limiter.context
    expect(limiter.send(ask('a')).take()).toEqual(granted)
    expect(limiter.context.budget).toEqual(budget)
    expect(limiter.context.permits).toHaveLength(1)
  })

  it('a waiter that asks again keeps its one place', () => {
    const limiter = limiterWith({}).send(ask('a')).send(ask('b')).send(ask('a'))
    expect(limiter.context.waiters.map(({ id }) => id)).toEqual(['a', 'b'])
    expect(limiter.take()).toEqual([])
  })

  it('requests at once are never more than allowed, however many tokens there are', () => {
    const limiter = limiterWith({ maxConcurrent: 1 }).advance(60_000)
    limiter.send(ask('a')).send(ask('b')).advance(30_000)
    expect(heard(limiter)).toEqual(['grant a'])
    expect(heard(limiter.send(answer('a', { ends: false })))).toEqual([])
    expect(heard(limiter.send(released('a')))).toEqual(['grant b'])
  })

  it('a permit whose holder is gone comes back at its end', () => {
    const limiter = limiterWith({ maxConcurrent: 1, permitMs: 5_000 }).advance(2_000)
    limiter.send(ask('a')).send(ask('b')).take()
    expect(heard(limiter.advance(4_999))).toEqual([])
    expect(heard(limiter.advance(1))).toEqual(['reclaim a', 'grant b'])
  })

  it('requests keep their distance, also when tokens are there', () => {
    const limiter = limiterWith({ minDelayMs: 3_000 }).advance(60_000)
    for (const id of ['a', 'b', 'c']) limiter.send(ask(id))
    expect(heard(limiter)).toEqual(['grant a'])
    expect(heard(limiter.advance(2_999))).toEqual([])
    expect(heard(limiter.advance(1))).toEqual(['grant b'])
    expect(heard(limiter.advance(3_000))).toEqual(['grant c'])
  })

  it('a crash that forgets the last request still keeps the distance to it', () => {
    const limiter = limiterWith({ minDelayMs: 5_000 }, { snapshotDelayMs: 50 }).advance(60_000)
    expect(heard(limiter.send(ask('a')))).toEqual(['grant a'])
    limiter.crash().send(ask('b'))
    expect(heard(limiter.advance(4_999))).toEqual([])
    expect(heard(limiter.advance(1))).toEqual(['grant b'])
  })

  it('a limiter that is switched off lets everybody through', () => {
    const limiter = limiterWith({ enabled: false, maxConcurrent: 1, minDelayMs: 60_000 })
    for (const id of ['a', 'b', 'c']) limiter.send(ask(id))
    expect(heard(limiter)).toEqual(['grant a', 'grant b', 'grant c'])
  })

  it('a limiter that is switched off still heeds the server and the operator', () => {
    const limiter = limiterWith({ enabled: false }).send(ask('a'))
    limiter
      .send(answer('a', { retryAfterMs: 2_000 }))
      .send(ask('b'))
      .take()
    expect(heard(limiter.advance(1_999))).toEqual([])
    expect(heard(limiter.advance(1))).toEqual(['grant b'])
    expect(heard(limiter.send({ type: 'PAUSED' }).send(ask('c')))).toEqual([])
    expect(heard(limiter.send({ type: 'CONTINUED' }))).toEqual(['grant c'])
  })
})

describe('waiting', () => {
  it('equals are served in the order they came', () => {
    const limiter = limiterWith({ maxConcurrent: 10 })
    for (const id of ['a', 'b', 'c']) limiter.send(ask(id)).advance(1)
    expect(heard(limiter.advance(3_000))).toEqual(['grant a', 'grant b', 'grant c'])
  })

  it('the important go first, and those of equal importance in order', () => {
    const limiter = limiterWith({ maxConcurrent: 10 })
    for (const [id, priority] of [
      ['low1', 0],
      ['high1', 1],
      ['low2', 0],
      ['high2', 1],
    ] as const)
      limiter.send(ask(id, { priority }))
    const order = ['grant high1', 'grant high2', 'grant low1', 'grant low2']
    expect(heard(limiter.advance(4_000))).toEqual(order)
  })

  it('a steady stream of the important delays the rest by their head start, no longer', () => {
    const limiter = limiterWith({ maxConcurrent: 100, priorityHeadStartMs: 5_000 })
    limiter.send(ask('patient', { priority: 0 }))
    const heardAt = new Map<string, number>()
    for (let second = 0; second < 60 && !heardAt.has('patient'); second++) {
      limiter.send(ask(`urgent${second}`, { priority: 1 })).advance(1_000)
      for (const { id } of limiter.take()) heardAt.set(id, limiter.now - START_AT)
    }
    // The five who came within the head start go before it.
    expect(heardAt.get('patient')).toBe(6_000)
  })

  it('when too many wait already, the next one is told so at once', () => {
    const limiter = limiterWith({ waitersMax: 2 })
    for (const id of ['a', 'b', 'c']) limiter.send(ask(id))
    expect(limiter.take()).toEqual([{ type: 'refuse', id: 'c', reason: 'queueFull' }])
  })

  it('nobody waits longer than they are willing to', () => {
    const limiter = limiterWith({ maxConcurrent: 1 }).advance(2_000)
    limiter
      .send(ask('a'))
      .send(ask('b', { waitMs: 700 }))
      .take()
    expect(limiter.advance(699).take()).toEqual([])
    expect(limiter.advance(1).take()).toEqual([
      { type: 'refuse', id: 'b', reason: 'waitedTooLong' },
    ])
  })

  it('nobody waits longer than the maximum, whatever they are willing to', () => {
    const limiter = limiterWith({ initialRps: 0.1, waitMsMax: 4_000 })
    limiter.send(ask('a', { waitMs: 3_600_000 }))
    expect(heard(limiter.advance(4_000))).toEqual(['refuse a'])
  })

  it('who will not wait at all is let through now or refused now', () => {
    const limiter = limiterWith({}).advance(1_000)
    expect(heard(limiter.send(ask('a', { waitMs: 0 })))).toEqual(['grant a'])
    expect(heard(limiter.send(ask('b', { waitMs: 0 })))).toEqual(['refuse b'])
  })

  it('who gives up loses its place, and the next moves up', () => {
    const limiter = limiterWith({}).send(ask('a')).send(ask('b'))
    limiter.send({ type: 'ABANDONED', id: 'a' })
    expect(heard(limiter.advance(1_000))).toEqual(['grant b'])
  })

  it('a permit that is given back unused frees its place', () => {
    const limiter = limiterWith({ maxConcurrent: 1 }).advance(2_000)
    limiter.send(ask('a')).send(ask('b')).take()
    expect(heard(limiter.send({ type: 'ABANDONED', id: 'a' }))).toEqual(['grant b'])
  })
})

describe('Retry-After', () => {
  const cooled = (...waits: number[]) => {
    const limiter = limiterWith({ waitMsMax: 86_400_000 }).advance(10_000).send(ask('a'))
    for (const retryAfterMs of waits) limiter.send(answer('a', { kind: 'throttled', retryAfterMs }))
    limiter.take()
    return limiter.send(ask('b'))
  }

  it('nothing is granted before the time given, though there are tokens', () => {
    const limiter = cooled(7_000)
    expect(limiter.state).toBe('cooling')
    expect(heard(limiter.advance(6_999))).toEqual([])
    expect(heard(limiter.advance(1))).toEqual(['grant b'])
  })

  it('the longest counts, whichever came last', () => {
    expect(cooled(2_000, 9_000, 1_000).context.notBefore).toBe(START_AT + 10_000 + 9_000)
  })

  it('is never shortened', () => {
    const years = 80 * 365 * 86_400_000
    expect(cooled(years).context.notBefore).toBe(START_AT + 10_000 + years)
  })

  it('is kept by a host that is killed and comes back in between', () => {
    const limiter = cooled(7_000).save().crash({ downMs: 3_000 })
    expect(limiter.state).toBe('cooling')
    expect(heard(limiter.advance(3_999))).toEqual([])
    expect(heard(limiter.advance(1))).toEqual(['grant b'])
  })

  it.each([
    { downMs: 6_999, state: 'cooling' },
    { downMs: 7_000, state: 'idle' },
    { downMs: 9_999, state: 'idle' },
  ])('after $downMs ms of absence from a wait of 7 s it is $state', ({ downMs, state }) => {
    const limiter = limiterWith({})
      .send(answer('late', { retryAfterMs: 7_000 }))
      .save()
    expect(limiter.crash({ downMs }).state).toBe(state)
  })

  it('alone lowers the rate, once', () => {
    const limiter = limiterWith({ strategy: 'aimd', initialRps: 8 }).advance(1_000).send(ask('a'))
    limiter.send(answer('a', { retryAfterMs: 1_000, ends: false }))
    expect(limiter.context.pace.ratePerSecond).toBe(4)
    limiter.send(answer('a', { retryAfterMs: 1_000 }))
    expect(limiter.context.pace.ratePerSecond).toBe(4)
  })

  it('of zero asks for nothing and lowers nothing', () => {
    const limiter = limiterWith({ strategy: 'aimd', initialRps: 8 }).advance(1_000).send(ask('a'))
    limiter.send(answer('a', { retryAfterMs: 0 }))
    expect(limiter.context.pace).toMatchObject({ ratePerSecond: 8, rejections: 0 })
    expect(limiter.state).toBe('idle')
  })

  it('gives way to an operator who resets the domain', () => {
    const limiter = cooled(7_000).send({ type: 'RESET' })
    expect(heard(limiter)).toEqual(['grant b'])
  })
})

describe('pausing', () => {
  it('nothing is granted until the operator lets go; what is under way may end', () => {
    const limiter = limiterWith({}).advance(10_000).send(ask('a')).send({ type: 'PAUSED' })
    limiter.send(ask('b')).send(released('a')).take()
    expect(heard(limiter.advance(30_000))).toEqual([])
    expect(limiter.state).toBe('paused')
    expect(heard(limiter.send({ type: 'CONTINUED' }))).toEqual(['grant b'])
  })

  it('nothing that happens lets anybody through, not even with the limiter switched off', () => {
    const limiter = limiterWith({ enabled: false }).send({ type: 'PAUSED' }).send(ask('a'))
    limiter.send(answer('late')).send({ type: 'RECOVERED' }).send({ type: 'RESET' })
    expect(heard(limiter.save().crash().advance(1_000))).toEqual([])
  })

  it('the server’s own time is kept after the operator’s', () => {
    const limiter = limiterWith({}).send({ type: 'PAUSED' })
    limiter.send(answer('late', { retryAfterMs: 5_000 })).send({ type: 'CONTINUED' })
    expect(limiter.state).toBe('cooling')
  })

  it('outlasts a crash', () => {
    const limiter = limiterWith({}).send({ type: 'PAUSED' }).save().crash()
    limiter.send(ask('a')).advance(30_000)
    expect(heard(limiter)).toEqual([])
    expect(limiter.state).toBe('paused')
  })
})

describe('after an absence', () => {
  it('nothing saved up before a crash is spent after it', () => {
    const limiter = limiterWith({}).advance(60_000).send(ask('a')).save().crash()
    limiter.take()
    expect(heard(limiter.send(ask('b')))).toEqual([])
    expect(heard(limiter.advance(1_000))).toEqual(['grant b'])
  })

  it('permits that ran out meanwhile are taken back, and it may be put to sleep', () => {
    const limiter = limiterWith({ permitMs: 5_000 }).advance(2_000).send(ask('a')).save()
    limiter.take()
    expect(heard(limiter.crash({ downMs: 5_000 }))).toEqual(['reclaim a'])
    expect(limiter.state).toBe('idle')
    expect(limiter.save().evict().isHere).toBe(false)
  })
})

/** Someone always waits; the server answers each request at once, from a script. */
class BusyDomain {
  readonly limiter: Limiter
  readonly rates: number[] = []
  #asked = 0

  constructor(part: Partial<RateLimitConfig>) {
    this.limiter = limiterWith({ maxConcurrent: 10_000, permitMs: 600_000, ...part })
    for (let each = 0; each < 3; each++) this.#ask()
  }

  /** Answers the next requests one by one, and notes the rate after each. */
  answer(...script: Partial<Feedback>[]): this {
    for (const part of script) {
      this.limiter.send(answer(this.nextGrant(), part))
      this.rates.push(this.limiter.context.pace.ratePerSecond)
    }
    return this
  }

  /** Until the sending rate has been measured; answers like these move nothing. */
  warmUp(): this {
    for (let each = 0; each < 40; each++) this.answer({ kind: 'clientError' })
    this.rates.length = 0
    return this
  }

  nextGrant(): string {
    for (;;) {
      const [granted] = this.limiter.take()
      if (granted?.type === 'grant') {
        this.#ask()
        return granted.id
      }
      if (!this.limiter.clock.advanceToNext()) throw new Error('Nothing will ever be granted.')
    }
  }

  grantsWithin(ms: number): number {
    const until = this.limiter.now + ms
    let grants = 0
    while (this.limiter.now < until) {
      this.limiter.advance(1)
      for (const { id } of this.limiter.take()) {
        grants++
        this.#ask()
        this.limiter.send(released(id))
      }
    }
    return grants
  }

  #ask(): void {
    this.limiter.send(ask(`${this.#asked++}`))
  }
}

const fast = { latencyMs: 100 }
const slow = { latencyMs: 1_500 }
const degraded = { latencyMs: 5_000 }
const throttled = { kind: 'throttled', latencyMs: 20 } as const

describe('the rate', () => {
  const config = { initialRps: 8, minRps: 1, maxRps: 20, tokenBucketCapacity: 1 }

  it('follows a scripted server by additive increase and multiplicative decrease', () => {
    const domain = new BusyDomain({ ...config, strategy: 'aimd' }).warmUp()
    domain.answer(fast, slow, throttled, fast, fast, degraded, fast)
    const expected = [8.1, 8.1, 4.05, 4.15, 4.25, 2.125, 2.225]
    expect(domain.rates.map((rate) => Number(rate.toFixed(9)))).toEqual(expected)
  })

  it('past time is credited at the rate it had', () => {
    const limiter = limiterWith({ ...config, strategy: 'aimd', tokenBucketCapacity: 500 })
    limiter.advance(10_000).send(answer('late', throttled)).advance(10_000).send(ask('a'))
    expect(limiter.context.budget.tokens).toBe(10 * 8 + 10 * 4 - 1)
  })

  it('stops at its floor and at its ceiling', () => {
    const domain = new BusyDomain({ ...config, maxRps: 8.15, strategy: 'aimd' }).warmUp()
    domain.answer(fast, fast, throttled, throttled, throttled, throttled)
    expect(domain.rates.map((rate) => Number(rate.toFixed(9)))).toEqual([
      8.1, 8.15, 4.075, 2.0375, 1.01875, 1,
    ])
  })

  it('is divided by 1, 1.5, 2.25, and by a tenth less after every ten successes', () => {
    const domain = new BusyDomain({ ...config, initialRps: 9, strategy: 'multiplier' }).warmUp()
    const multipliers: number[] = []
    const note = () => multipliers.push(domain.limiter.context.pace.backoffMultiplier)
    const ten = Array.from({ length: 10 }, () => fast)
    note()
    domain.answer(throttled)
    note()
    domain.answer(throttled)
    note()
    expect(domain.rates).toEqual([6, 4])
    domain.answer(...ten.slice(1))
    note()
    domain.answer(fast)
    note()
    domain.answer(...ten)
    note()
    expect(multipliers.map((each) => Number(each.toFixed(9)))).toEqual([
      1, 1.5, 2.25, 2.25, 2.025, 1.8225,
    ])
    for (let each = 0; each < 10; each++) domain.answer(...ten)
    expect(domain.limiter.context.pace).toMatchObject({ backoffMultiplier: 1, ratePerSecond: 9 })
  })

  it('one burst of rejections is one decrease', () => {
    const limiter = limiterWith({ ...config, strategy: 'aimd', tokenBucketCapacity: 4 })
    limiter.advance(1_000)
    const burst = ['a', 'b', 'c', 'd']
    for (const id of burst) limiter.send(ask(id))
    expect(heard(limiter)).toHaveLength(4)
    for (const id of burst) limiter.advance(50).send(answer(id, throttled))
    expect(limiter.context.pace).toMatchObject({ ratePerSecond: 4, rejections: 4 })
  })

  it('is forgotten with everything learned when an operator resets the domain', () => {
    const domain = new BusyDomain({ ...config, strategy: 'aimd' }).warmUp().answer(throttled)
    domain.limiter.send({ type: 'RESET' })
    expect(domain.limiter.context.pace.ratePerSecond).toBe(8)
  })

  it('outlasts a crash', () => {
    const domain = new BusyDomain({ ...config, strategy: 'aimd' }).warmUp().answer(throttled)
    domain.limiter.save().crash()
    expect(domain.limiter.context.pace.ratePerSecond).toBe(4)
  })
})

describe('slow start', () => {
  const config = { initialRps: 10, tokenBucketCapacity: 1, slowStartMs: 10_000 }

  it('climbs from its share to the whole rate, then keeps it', () => {
    const domain = new BusyDomain({ ...config, slowStartShare: 0.25 })
    domain.limiter.send({ type: 'RECOVERED' })
    // The area under a line from a quarter to the whole: 62.5 of 100.
    expect(domain.grantsWithin(10_000)).toBe(62)
    expect(domain.grantsWithin(10_000)).toBe(100)
  })

  it('from half of it lets half through at first', () => {
    const domain = new BusyDomain({ ...config, slowStartMs: 3_600_000, slowStartShare: 0.5 })
    expect(domain.grantsWithin(10_000)).toBe(100)
    domain.limiter.send({ type: 'RECOVERED' })
    expect(domain.grantsWithin(10_000)).toBe(50)
  })

  it('goes on after a crash where it stood', () => {
    const domain = new BusyDomain({ ...config, slowStartShare: 0.25 })
    domain.limiter.send({ type: 'RECOVERED' })
    const before = domain.grantsWithin(5_000)
    const { ramp } = domain.limiter.context
    domain.limiter.save().crash()
    expect(domain.limiter.context.ramp).toEqual(ramp)
    const both = before + domain.grantsWithin(5_000)
    expect([61, 62]).toContain(both)
  })
})
