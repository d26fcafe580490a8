import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type RateLimitConfig,
  rateLimitConfig,
  rateLimitProblems,
} from '../../src/machines/rate-limit-config.ts'

/** A configuration as it may come from a file: not what the types promise. */
const problemsOf = (json: string) => rateLimitProblems(JSON.parse(json))

describe('without any input', () => {
  it('the defaults are valid and polite', () => {
    const config = rateLimitConfig()
    expect(rateLimitProblems(config)).toEqual([])
    expect(config.initialRps).toBeLessThanOrEqual(1)
    expect(config).toMatchObject({ statsWindowMs: 30_000, statsBucketMs: 2_000, shards: 16 })
    expect(config).toMatchObject({ latencyEwmaWeight: 0.2, latencySamplesMax: 64 })
  })

  it('no setting is missing', () => {
    const settings: (keyof RateLimitConfig)[] = [
      'enabled',
      'initialRps',
      'minRps',
      'maxRps',
      'tokenBucketCapacity',
      'aimdIncrease',
      'aimdDecrease',
      'latencyTargetMs',
      'latencyDegradeFactor',
      'errorRateThreshold',
      'minSamplesToTrip',
      'consecutiveFailThreshold',
      'openStateMs',
      'halfOpenProbes',
      'retryBaseDelayMs',
      'retryMaxDelayMs',
      'retryMaxAttempts',
      'statsWindowMs',
      'statsBucketMs',
      'domainStateTtlMs',
      'shards',
    ]
    for (const setting of settings) expect(rateLimitConfig()).toHaveProperty(setting)
  })
})

describe('what is given', () => {
  it('replaces the default and leaves the others', () => {
    const config = rateLimitConfig({ initialRps: 5, strategy: 'cubic' })
    expect(config).toEqual({ ...rateLimitConfig(), initialRps: 5, strategy: 'cubic' })
  })

  it('cannot be changed afterwards', () => {
    const input = { initialRps: 5 }
    const config = rateLimitConfig(input)
    input.initialRps = 7
    expect(config.initialRps).toBe(5)
    expect(Object.isFrozen(config)).toBe(true)
  })

  it.each<[keyof RateLimitConfig, unknown]>([
    ['enabled', 'yes'],
    ['strategy', 'bbr'],
    ['initialRps', 0],
    ['initialRps', '1'],
    ['initialRps', null],
    ['tokenBucketCapacity', 0.5],
    ['maxConcurrent', 1.5],
    ['aimdDecrease', 1],
    ['aimdDecrease', 0],
    ['cubicDecrease', 1.2],
    ['latencyDegradeFactor', 0.5],
    ['errorRateThreshold', 1.1],
    ['halfOpenProbes', 0],
    ['retryMaxAttempts', 0],
    ['slowStartShare', 0],
    ['permitMs', -1],
    ['shards', 12],
    ['domainsMax', 0],
  ])('%s: %j is refused with advice', (key, value) => {
    const [problem, ...others] = problemsOf(JSON.stringify({ [key]: value }))
    expect(others).toEqual([])
    expect(problem).toMatch(new RegExp(`^${key}: .+ does not fit; set it to `))
  })

  it.each([Number.NaN, Number.POSITIVE_INFINITY])('%d is not a rate', (initialRps) => {
    expect(() => rateLimitConfig({ initialRps })).toThrow('initialRps')
  })

  it('a setting nobody knows is refused', () => {
    expect(problemsOf('{"initialRPS": 2}')).toEqual([
      'initialRPS: no such setting; remove it or correct its name',
    ])
    expect(problemsOf('{"toString": 2}')).toHaveLength(1)
  })

  it.each<Partial<RateLimitConfig>>([
    { minRps: 2, initialRps: 1 },
    { initialRps: 11, maxRps: 10 },
    { statsWindowMs: 30_000, statsBucketMs: 7_000 },
    { statsWindowMs: 30_000, statsBucketMs: 1 },
    { openStateMs: 600_000, openStateMsMax: 300_000 },
    { retryBaseDelayMs: 5_000, retryMaxDelayMs: 1_000 },
    { domainStateTtlMs: 1_000 },
  ])('%j contradicts itself, and the problem names both sides', (input) => {
    const [problem, ...others] = rateLimitProblems(input)
    expect(others).toEqual([])
    for (const key of Object.keys(input)) expect(problem).toContain(key)
  })

  it('all problems are told at once', () => {
    const input = { minRps: 5, initialRps: 1, aimdDecrease: 2, shards: 3 }
    expect(rateLimitProblems(input)).toHaveLength(3)
    expect(() => rateLimitConfig(input)).toThrow(
      /refused:\n- aimdDecrease.+\n- shards.+\n- minRps 5 and initialRps 1 /,
    )
  })
})

it('rates and buckets are accepted exactly when they go together', () => {
  const rate = fc.integer({ min: -1, max: 5 })
  const size = fc.integer({ min: -1, max: 40 })
  fc.assert(
    fc.property(rate, rate, rate, size, size, (minRps, initialRps, maxRps, window, bucket) => {
      const input = { minRps, initialRps, maxRps, statsWindowMs: window, statsBucketMs: bucket }
      const isOrdered = minRps > 0 && minRps <= initialRps && initialRps <= maxRps
      const isDivided = window > 0 && bucket > 0 && window % bucket === 0
      expect(rateLimitProblems(input).length === 0).toBe(isOrdered && isDivided)
    }),
    { numRuns: 2_000 },
  )
})
