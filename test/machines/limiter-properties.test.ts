/**
 * Whatever happens to a limiter, in whatever order, its promises hold. The ledger below is kept from
 * outside: it knows what was asked and what the limiter answered, and nothing of how it decides.
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Feedback } from '../../src/machines/feedback.ts'
import {
  type LimiterCommand,
  type LimiterContext,
  type LimiterMessage,
  limiterMachine,
} from '../../src/machines/limiter.ts'
import {
  type RateLimitConfig,
  rateLimitConfig,
  strategyNames,
} from '../../src/machines/rate-limit-config.ts'
import { HostedMachine } from './hosted-machine.ts'

type Happening =
  | { readonly what: 'ask'; readonly priority: number; readonly waitMs: number | undefined }
  | { readonly what: 'askAgain' | 'release' | 'abandon'; readonly who: number }
  | { readonly what: 'answer'; readonly who: number; readonly answer: Omit<Feedback, 'id'> }
  | { readonly what: 'PAUSED' | 'CONTINUED' | 'RECOVERED' | 'RESET' }
  | { readonly what: 'pass'; readonly ms: number }
  | { readonly what: 'crash'; readonly downMs: number }

const configs = fc
  .record({
    enabled: fc.boolean(),
    strategy: fc.constantFrom(...strategyNames),
    initialRps: fc.constantFrom(0.5, 1, 3.7, 10),
    maxRps: fc.constantFrom(10, 20),
    tokenBucketCapacity: fc.constantFrom(1, 2, 2.5, 5),
    maxConcurrent: fc.integer({ min: 1, max: 4 }),
    minDelayMs: fc.constantFrom(0, 0, 250, 1_500),
    waitersMax: fc.constantFrom(1, 3, 8),
    permitMs: fc.constantFrom(700, 5_000),
    waitMsMax: fc.constantFrom(2_000, 20_000),
    slowStartMs: fc.constantFrom(0, 4_000),
    priorityHeadStartMs: fc.constantFrom(0, 1_000),
  })
  .map((part) => rateLimitConfig(part))

const who = fc.nat({ max: 7 })
const passing = fc.record({ what: fc.constant('pass' as const), ms: fc.nat({ max: 3_000 }) })
const asking = fc.record({
  what: fc.constant('ask' as const),
  priority: fc.nat({ max: 2 }),
  waitMs: fc.constantFrom(undefined, 0, 300, 5_000),
})
const ending = fc.record({ what: fc.constantFrom('release' as const, 'abandon' as const), who })
const crashing = fc.record({
  what: fc.constant('crash' as const),
  downMs: fc.constantFrom(0, 1, 400, 8_000),
})
const answering = fc.record({
  what: fc.constant('answer' as const),
  who,
  answer: fc.record({
    kind: fc.constantFrom<Feedback['kind'][]>(
      ...(['success', 'success', 'throttled', 'overloaded', 'clientError'] as const),
      ...(['serverError', 'network'] as const),
    ),
    latencyMs: fc.constantFrom(null, 10, 900, 1_500, 4_000),
    retryAfterMs: fc.constantFrom(null, null, null, 0, 700, 3_000),
    ends: fc.boolean(),
  }),
})
const anything: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 8, arbitrary: asking },
  { weight: 6, arbitrary: passing },
  { weight: 4, arbitrary: answering },
  { weight: 3, arbitrary: ending },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('askAgain' as const), who }) },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constantFrom('PAUSED', 'CONTINUED', 'CONTINUED', 'RECOVERED', 'RESET'),
    }),
  },
  { weight: 1, arbitrary: crashing },
)

interface Asker {
  readonly id: string
  readonly rank: number
  readonly order: number
  state: 'waits' | 'holds' | 'over'
  until: number
}

/** What an honest observer of one domain writes down, and finds fault with. */
class Ledger {
  readonly #config: RateLimitConfig
  readonly askers = new Map<string, Asker>()
  readonly grantedAt: number[] = []
  isPaused = false
  notBefore = Number.NEGATIVE_INFINITY
  /** Who may be granted a second time: it has just asked again. */
  repeating: string | undefined

  constructor(config: RateLimitConfig) {
    this.#config = config
  }

  asked(priority: number, at: number): string {
    const order = this.askers.size
    const id = `${order}`
    const rank = at - priority * this.#config.priorityHeadStartMs
    this.askers.set(id, { id, rank, order, state: 'waits', until: 0 })
    return id
  }

  answered({ retryAfterMs }: Omit<Feedback, 'id'>, at: number): void {
    if (retryAfterMs) this.notBefore = Math.max(this.notBefore, at + retryAfterMs)
  }

  ended(id: string): void {
    this.#known(id).state = 'over'
  }

  noted(command: LimiterCommand, at: number): void {
    const asker = this.#known(command.id)
    switch (command.type) {
      case 'grant':
        if (asker.state === 'holds') expect(command.id).toBe(this.repeating)
        else this.#granted(asker, command, at)
        break
      case 'refuse':
        expect(asker.state).toBe('waits')
        asker.state = 'over'
        break
      case 'reclaim':
        expect(asker.state).toBe('holds')
        expect(at).toBeGreaterThanOrEqual(asker.until)
        asker.state = 'over'
        break
      default:
        command satisfies never
    }
  }

  those(state: Asker['state']): Asker[] {
    return [...this.askers.values()].filter((asker) => asker.state === state)
  }

  #granted(asker: Asker, { until }: { readonly until: number }, at: number): void {
    const { enabled, minDelayMs } = this.#config
    expect(asker.state).toBe('waits')
    expect(this.isPaused).toBe(false)
    expect(at).toBeGreaterThanOrEqual(this.notBefore)
    const last = this.grantedAt.at(-1)
    if (enabled && last !== undefined) expect(at - last).toBeGreaterThanOrEqual(minDelayMs)
    const overtaken = this.those('waits').filter(
      ({ rank, order }) => rank < asker.rank || (rank === asker.rank && order < asker.order),
    )
    expect(overtaken).toEqual([])
    asker.state = 'holds'
    asker.until = until
    this.grantedAt.push(at)
  }

  #known(id: string): Asker {
    const asker = this.askers.get(id)
    if (!asker) throw new Error(`Nobody asked with the id '${id}'.`)
    return asker
  }
}

function keepsItsRate(grantedAt: readonly number[], config: RateLimitConfig): void {
  const { strategy, initialRps, maxRps, tokenBucketCapacity } = config
  const perMs = (strategy === 'fixed' ? initialRps : maxRps) / 1_000
  // The most crowded window that ends at each grant: less room left would be a grant too many.
  let room = tokenBucketCapacity
  grantedAt.forEach((at, index) => {
    const since = at - (grantedAt[index - 1] ?? Number.NEGATIVE_INFINITY)
    room = Math.min(tokenBucketCapacity, room + perMs * since) - 1
    expect(room).toBeGreaterThanOrEqual(-1e-6)
  })
}

type Limiter = HostedMachine<LimiterMessage, LimiterCommand, LimiterContext>

function isConsistent(limiter: Limiter, ledger: Ledger, config: RateLimitConfig): void {
  const { budget, permits, waiters, notBefore, dueAt } = limiter.context
  const { state, now } = limiter
  const ids = (all: readonly { readonly id: string }[]) => all.map(({ id }) => id).toSorted()
  expect(limiter.crashes).toEqual([])
  expect(budget.tokens).toBeGreaterThanOrEqual(0)
  expect(budget.tokens).toBeLessThanOrEqual(config.tokenBucketCapacity)
  expect(ids(permits)).toEqual(ids(ledger.those('holds')))
  expect(ids(waiters)).toEqual(ids(ledger.those('waits')))
  expect(waiters.length).toBeLessThanOrEqual(config.waitersMax)
  if (config.enabled) expect(permits.length).toBeLessThanOrEqual(config.maxConcurrent)
  if (waiters.length + permits.length > 0) expect(dueAt).toBeGreaterThan(now)
  const expected = ledger.isPaused
    ? 'paused'
    : ledger.notBefore > now
      ? 'cooling'
      : waiters.length > 0
        ? 'pacing'
        : permits.length > 0
          ? 'flowing'
          : 'idle'
  expect({ state, notBefore }).toMatchObject({ state: expected })
}

function happen(event: Happening, limiter: Limiter, ledger: Ledger): void {
  const oneOf = (askers: Asker[], index: number) => askers[index % Math.max(1, askers.length)]
  const involved = () => [...ledger.those('holds'), ...ledger.those('waits')]
  switch (event.what) {
    case 'ask': {
      const id = ledger.asked(event.priority, limiter.now)
      limiter.send({ type: 'ACQUIRE', id, priority: event.priority, waitMs: event.waitMs })
      break
    }
    case 'askAgain': {
      const id = oneOf(involved(), event.who)?.id
      ledger.repeating = id
      if (id !== undefined) limiter.send({ type: 'ACQUIRE', id })
      ledger.repeating = undefined
      break
    }
    case 'release':
    case 'abandon': {
      const isRelease = event.what === 'release'
      const id = oneOf(isRelease ? ledger.those('holds') : involved(), event.who)?.id
      if (id === undefined) break
      ledger.ended(id)
      limiter.send({ type: isRelease ? 'RELEASED' : 'ABANDONED', id })
      break
    }
    case 'answer': {
      const id = oneOf(ledger.those('holds'), event.who)?.id
      ledger.answered(event.answer, limiter.now)
      if (id !== undefined && event.answer.ends) ledger.ended(id)
      limiter.send({ type: 'FEEDBACK', id: id ?? 'stranger', ...event.answer })
      break
    }
    case 'PAUSED':
    case 'CONTINUED':
      ledger.isPaused = event.what === 'PAUSED'
      limiter.send({ type: event.what })
      break
    case 'RESET':
      ledger.notBefore = Number.NEGATIVE_INFINITY
      limiter.send({ type: 'RESET' })
      break
    case 'RECOVERED':
      limiter.send({ type: 'RECOVERED' })
      break
    case 'pass':
      limiter.advance(event.ms)
      break
    case 'crash':
      limiter.crash({ downMs: event.downMs })
      break
    default:
      event satisfies never
  }
}

it('every promise holds after everything that may happen, and everybody is served in the end', () => {
  fc.assert(
    fc.property(configs, fc.array(anything, { maxLength: 80 }), (config, happenings) => {
      const ledger = new Ledger(config)
      const limiter: Limiter = new HostedMachine(limiterMachine(config), {
        perform: (command, at) => ledger.noted(command, at),
      })
      for (const event of happenings) {
        limiter.save()
        happen(event, limiter, ledger)
        isConsistent(limiter, ledger, config)
      }
      if (ledger.isPaused) happen({ what: 'CONTINUED' }, limiter, ledger)
      for (let step = 0; limiter.clock.advanceToNext(); step++) {
        isConsistent(limiter, ledger, config)
        expect(step).toBeLessThan(10_000)
      }
      expect(limiter.state).toBe('idle')
      expect([...ledger.askers.values()].every(({ state }) => state === 'over')).toBe(true)
      if (config.enabled) keepsItsRate(ledger.grantedAt, config)
    }),
    { numRuns: 400 },
  )
})

it('no domain sees more than its rate, nor requests too close, whatever a crash makes us forget', () => {
  const mostlyAsking = fc.oneof(
    { weight: 6, arbitrary: asking },
    { weight: 6, arbitrary: passing },
    { weight: 3, arbitrary: ending },
    { weight: 2, arbitrary: crashing },
  )
  const cases = fc.array(mostlyAsking, { maxLength: 80 })
  fc.assert(
    fc.property(configs, cases, (part, happenings) => {
      const config = { ...part, enabled: true }
      const grantedAt: number[] = []
      const ledger = new Ledger(config)
      const limiter: Limiter = new HostedMachine(limiterMachine(config), {
        // Longer than many a step takes: most crashes come before the write.
        snapshotDelayMs: 1_000,
        perform: ({ type }, at) => void (type === 'grant' && grantedAt.push(at)),
      })
      for (const event of happenings) happen(event, limiter, ledger)
      keepsItsRate(grantedAt, config)
      grantedAt.forEach((at, index) => {
        const last = grantedAt[index - 1]
        if (last !== undefined) expect(at - last).toBeGreaterThanOrEqual(config.minDelayMs)
      })
    }),
    { numRuns: 400 },
  )
})
