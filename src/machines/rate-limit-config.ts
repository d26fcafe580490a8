/**
 * How politely a domain is treated: every setting of the limiter, the breaker and the retries.
 *
 * `rateLimitConfig` is the only way to obtain one. What it returns is complete, frozen, of the
 * right types, and keeps every relation below; nothing further down checks again. What it refuses,
 * it refuses with all problems at once, each saying what to do.
 */

export const strategyNames = ['aimd', 'multiplier', 'cubic', 'fixed'] as const
export type StrategyName = (typeof strategyNames)[number]

export interface RateLimitConfig {
  readonly enabled: boolean
  readonly strategy: StrategyName
  readonly initialRps: number
  readonly minRps: number
  readonly maxRps: number
  readonly tokenBucketCapacity: number
  readonly maxConcurrent: number
  readonly minDelayMs: number

  readonly aimdIncrease: number
  readonly aimdDecrease: number
  readonly cubicScale: number
  readonly cubicDecrease: number

  readonly latencyTargetMs: number
  readonly latencyDegradeFactor: number
  readonly latencyEwmaWeight: number
  readonly latencySamplesMax: number

  readonly statsWindowMs: number
  readonly statsBucketMs: number

  readonly errorRateThreshold: number
  readonly minSamplesToTrip: number
  readonly consecutiveFailThreshold: number
  readonly openStateMs: number
  readonly openStateMsMax: number
  readonly halfOpenProbes: number
  readonly slowStartMs: number
  readonly slowStartShare: number

  readonly retryBaseDelayMs: number
  readonly retryMaxDelayMs: number
  readonly retryMaxAttempts: number

  readonly permitMs: number
  readonly waitersMax: number
  readonly waitMsMax: number
  readonly priorityHeadStartMs: number

  readonly domainStateTtlMs: number
  readonly domainsMax: number
  readonly shards: number
}

const secondMs = 1_000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

const defaults: RateLimitConfig = {
  enabled: true,
  // The only strategy that heeds both signals, rejections and slow answers.
  strategy: 'aimd',
  // One a second is the spacing crawlers agree on for a host they know nothing about (W3C's advice,
  // StormCrawler's default); what the host tolerates beyond that is learned.
  initialRps: 1,
  // Between Heritrix's longest delay (30 s) and the AWS SDK's slowest fill (2 s). A host that wants
  // more than ten seconds of silence says so with Retry-After, or the breaker finds out.
  minRps: 0.1,
  maxRps: 10,
  // Two, not one: with one, every millisecond a timer fires late is rate lost for good.
  tokenBucketCapacity: 2,
  // Fewer than the six connections a browser opens to one host over HTTP/1.1.
  maxConcurrent: 4,
  // The budget does the spacing; this is for hosts that publish a crawl delay.
  minDelayMs: 0,

  // Added per fast answer, so the rate grows by a tenth of itself each second: from 1 to 10 in 23 s.
  aimdIncrease: 0.1,
  aimdDecrease: 0.5,
  // The AWS SDK's published constants. A smaller scale means fewer rejections and slower recovery.
  cubicScale: 0.4,
  cubicDecrease: 0.7,

  latencyTargetMs: 1 * secondMs,
  latencyDegradeFactor: 2,
  latencyEwmaWeight: 0.2,
  latencySamplesMax: 64,

  statsWindowMs: 30 * secondMs,
  statsBucketMs: 2 * secondMs,

  errorRateThreshold: 0.5,
  // A domain at one request a second shows thirty answers in a window: a breaker made for thousands
  // of calls a second (resilience4j wants a hundred samples) would never trip here.
  minSamplesToTrip: 10,
  consecutiveFailThreshold: 5,
  // Short at first so that a blip costs seconds; grows to the maximum while probes keep failing.
  openStateMs: 5 * secondMs,
  openStateMsMax: 5 * minuteMs,
  halfOpenProbes: 3,
  // A server that has just come back is often at a fraction of its strength: cold caches, one node.
  slowStartMs: 10 * secondMs,
  slowStartShare: 0.25,

  // At the initial rate nothing sooner would be let through anyway.
  retryBaseDelayMs: 1 * secondMs,
  retryMaxDelayMs: 1 * minuteMs,
  retryMaxAttempts: 5,

  // Longer than a polite request takes; a permit whose holder died comes back after this.
  permitMs: 2 * minuteMs,
  waitersMax: 1_000,
  waitMsMax: 1 * minuteMs,
  // What a step of priority is worth in waiting time: low priority is delayed, never starved.
  priorityHeadStartMs: 5 * secondMs,

  domainStateTtlMs: 10 * minuteMs,
  domainsMax: 10_000,
  // Accepted so that configurations written for sharded limiters load; actors share no map to split.
  shards: 16,
}

interface Rule {
  readonly accepts: (value: unknown) => boolean
  /** Completes the sentence "set it to …". */
  readonly wants: string
}

const flag: Rule = {
  accepts: (value) => typeof value === 'boolean',
  wants: 'true or false',
}

/** Strictly between 0 and 1: a factor that always shrinks and never to nothing. */
const fraction: Rule = {
  accepts: (value) => typeof value === 'number' && value > 0 && value < 1,
  wants: 'a number above 0 and below 1',
}

const oneOf = (values: readonly unknown[]): Rule => ({
  accepts: (value) => values.includes(value),
  wants: `one of ${values.join(', ')}`,
})

const number = (min: number, max: number): Rule => ({
  accepts: (value) => typeof value === 'number' && value >= min && value <= max,
  wants: `a number from ${min} to ${max}`,
})

const whole = (min: number, max: number): Rule => ({
  accepts: (value) => Number.isInteger(value) && number(min, max).accepts(value),
  wants: `a whole number from ${min} to ${max}`,
})

// Slower than one request in 10,000 s is a pause, and faster than this the budget would have to round.
const rate = number(0.0001, 100_000)
const duration = (min: number, max: number): Rule => {
  const rule = whole(min, max)
  return { ...rule, wants: `${rule.wants} (milliseconds)` }
}

const rules: { readonly [Key in keyof RateLimitConfig]: Rule } = {
  enabled: flag,
  strategy: oneOf(strategyNames),
  initialRps: rate,
  minRps: rate,
  maxRps: rate,
  tokenBucketCapacity: number(1, 1_000_000),
  maxConcurrent: whole(1, 10_000),
  minDelayMs: duration(0, hourMs),

  aimdIncrease: number(0.0001, 1_000),
  aimdDecrease: fraction,
  cubicScale: number(0.0001, 100),
  cubicDecrease: fraction,

  latencyTargetMs: duration(1, 10 * minuteMs),
  latencyDegradeFactor: number(1, 100),
  latencyEwmaWeight: fraction,
  latencySamplesMax: whole(1, 4_096),

  statsWindowMs: duration(1, dayMs),
  statsBucketMs: duration(1, dayMs),

  errorRateThreshold: number(0.01, 1),
  minSamplesToTrip: whole(1, 1_000_000),
  consecutiveFailThreshold: whole(1, 1_000_000),
  openStateMs: duration(1, dayMs),
  openStateMsMax: duration(1, dayMs),
  halfOpenProbes: whole(1, 1_000),
  slowStartMs: duration(0, hourMs),
  slowStartShare: number(0.01, 1),

  retryBaseDelayMs: duration(1, hourMs),
  retryMaxDelayMs: duration(1, dayMs),
  retryMaxAttempts: whole(1, 1_000),

  permitMs: duration(1, dayMs),
  waitersMax: whole(1, 1_000_000),
  waitMsMax: duration(1, dayMs),
  priorityHeadStartMs: duration(0, hourMs),

  domainStateTtlMs: duration(1, 30 * dayMs),
  domainsMax: whole(1, 10_000_000),
  shards: oneOf(Array.from({ length: 17 }, (_, power) => 2 ** power)),
}

interface Relation {
  readonly between: readonly (keyof RateLimitConfig)[]
  readonly holds: (config: RateLimitConfig) => boolean
  readonly wants: string
}

const relations: readonly Relation[] = [
  {
    between: ['minRps', 'initialRps'],
    holds: (config) => config.minRps <= config.initialRps,
    wants: 'raise initialRps or lower minRps, so that minRps ≤ initialRps',
  },
  {
    between: ['initialRps', 'maxRps'],
    holds: (config) => config.initialRps <= config.maxRps,
    wants: 'lower initialRps or raise maxRps, so that initialRps ≤ maxRps',
  },
  {
    between: ['statsBucketMs', 'statsWindowMs'],
    holds: (config) =>
      config.statsWindowMs % config.statsBucketMs === 0 &&
      config.statsWindowMs / config.statsBucketMs <= 1_000,
    wants: 'choose statsBucketMs so that it divides statsWindowMs into at most 1000 buckets',
  },
  {
    between: ['openStateMs', 'openStateMsMax'],
    holds: (config) => config.openStateMs <= config.openStateMsMax,
    wants: 'lower openStateMs or raise openStateMsMax, so that openStateMs ≤ openStateMsMax',
  },
  {
    between: ['retryBaseDelayMs', 'retryMaxDelayMs'],
    holds: (config) => config.retryBaseDelayMs <= config.retryMaxDelayMs,
    wants: 'lower retryBaseDelayMs or raise retryMaxDelayMs, so that the base is the smaller',
  },
  {
    between: ['domainStateTtlMs', 'statsWindowMs'],
    holds: (config) => config.domainStateTtlMs >= config.statsWindowMs,
    wants: 'raise domainStateTtlMs to at least statsWindowMs, or counters are forgotten early',
  },
]

/** Defaults for what is absent; throws a `RangeError` that names every problem. */
export function rateLimitConfig(input: Partial<RateLimitConfig> = {}): RateLimitConfig {
  const problems = rateLimitProblems(input)
  if (problems.length > 0) {
    throw new RangeError(['Rate limit configuration refused:', ...problems].join('\n- '))
  }
  return Object.freeze({ ...defaults, ...input })
}

/** Everything wrong with a configuration, one sentence each; empty when it may be used. */
export function rateLimitProblems(input: Partial<RateLimitConfig>): string[] {
  const given: Readonly<Record<string, unknown>> = input
  const strangers = Object.keys(given).filter((key) => !Object.hasOwn(rules, key))
  const misfits = Object.entries(rules).filter(
    ([key, rule]) => Object.hasOwn(given, key) && !rule.accepts(given[key]),
  )
  // Values that do not fit by themselves are left out of the relations, which would only repeat it.
  const unfit = new Set(misfits.map(([key]) => key))
  const config = { ...defaults, ...input }
  const broken = relations.filter(
    ({ between, holds }) => !between.some((key) => unfit.has(key)) && !holds(config),
  )
  return [
    ...strangers.map((key) => `${key}: no such setting; remove it or correct its name`),
    ...misfits.map(
      ([key, { wants }]) => `${key}: ${shown(given[key])} does not fit; set it to ${wants}`,
    ),
    ...broken.map(({ between, wants }) => {
      const values = between.map((key) => `${key} ${shown(config[key])}`)
      return `${values.join(' and ')} do not go together; ${wants}`
    }),
  ]
}

function shown(value: unknown): string {
  return typeof value === 'string' ? `"${value}"` : String(value)
}
