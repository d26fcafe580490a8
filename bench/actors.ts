/**
 * What the actor host costs. Absolute figures move with the machine; each is printed beside what
 * bare XState does in the same run, so that the ratio can be compared across machines.
 */
import { assign, createActor, emit, setup } from 'xstate'
import { ActorHost, type Actors } from '../src/actors/host.ts'
import { MemorySnapshots } from '../src/actors/memory-snapshots.ts'
import type { SnapshotStore } from '../src/actors/ports.ts'
import { decodeSnapshot, encodeSnapshot } from '../src/actors/snapshot-codec.ts'
import { statechartOf } from '../src/actors/statechart.ts'
import {
  type BreakerCommand,
  type BreakerMessage,
  breakerMachine,
} from '../src/machines/breaker.ts'
import { type HandlerJobCommand, handlerJobMachine } from '../src/machines/handler-job.ts'
import type { JobCommand, JobMessage } from '../src/machines/job.ts'
import {
  type LimiterCommand,
  type LimiterMessage,
  limiterMachine,
} from '../src/machines/limiter.ts'
import { type RateLimitConfig, rateLimitConfig } from '../src/machines/rate-limit-config.ts'
import { systemClock } from '../src/runtime/clock.ts'
import { systemChance } from '../src/runtime/random.ts'
import { bestRate, heapBytes, line, perSecond } from './measure.ts'

export async function run(): Promise<void> {
  console.log(`Node ${process.version}, one thread, best of five rounds\n`)
  await lifecycles()
  await permitPairs()
  await idleDomains()
  await activateAndEvict()
  await restores()
  await inspection()
}

// ── jobs ────────────────────────────────────────────────────────────────────────────────────────

async function lifecycles(): Promise<void> {
  const count = 40_000
  const bare = await bestRate(count, () => bareLifecycles(count))
  const hosted = await bestRate(count, () => hostedLifecycles(count))
  line('job lifecycles, bare XState actors', perSecond(bare), 'create, start, 2 events, 2 commands')
  line(
    'job lifecycles through the host',
    perSecond(hosted),
    `aim 50,000/s and 3 × bare; ${(hosted / bare).toFixed(2)} × bare`,
  )
}

const outcome = { kind: 'done', result: 1 } as const

/** Claimed, run, concluded, settled, done: with two hundred under way at any time. */
function hostedLifecycles(count: number): Promise<void> {
  return new Promise((resolve) => {
    const host = newHost()
    const chart = statechartOf(handlerJobMachine(jobPolicy))
    let started = 0
    let ended = 0
    const startNext = () => {
      if (started === count) return
      const jobId = `job-${started++}`
      jobs.start(jobId, { input: { jobId, attempt: 1, attemptsMax: 3, fence: 1 }, isNew: true })
    }
    const jobs = host.register<JobMessage, JobCommand | HandlerJobCommand>({
      name: 'job',
      chart: () => chart,
      isDurable: true,
      perform(command, key) {
        if (command.type === 'run') jobs.send(key, { type: 'CONCLUDED', outcome })
        else if (command.type === 'settle') jobs.send(key, { type: 'SETTLED' })
      },
    })
    host.on('actor.finished', () => {
      if (++ended < count) startNext()
      else {
        host.halt()
        resolve()
      }
    })
    for (let slot = 0; slot < 200; slot++) startNext()
  })
}

const jobPolicy = {
  backoff: { kind: 'exponential', baseMs: 1_000, maxMs: 60_000 },
  pauseMsMax: 5_000,
  attemptMsMax: 60_000,
} as const

/** The same machine as XState's own live actors, with nothing around them. */
function bareLifecycles(count: number): void {
  const machine = handlerJobMachine(jobPolicy)
  const stamp = { at: 0, roll: 0 }
  for (let index = 0; index < count; index++) {
    const input = { jobId: `job-${index}`, attempt: 1, attemptsMax: 3, fence: 1, ...stamp }
    const actor = createActor(machine, { input })
    let commands = 0
    actor.on('*', () => {
      commands++
    })
    actor.subscribe({ error: () => {} })
    actor.start()
    actor.send({ type: 'CONCLUDED', outcome, ...stamp })
    actor.send({ type: 'SETTLED', ...stamp })
    if (commands !== 2 || actor.getSnapshot().status !== 'done') throw new Error('not done')
  }
}

// ── domains ─────────────────────────────────────────────────────────────────────────────────────

/** Fast enough that tokens never run out: the cost measured is that of deciding, not of waiting. */
const generous = rateLimitConfig({
  initialRps: 100_000,
  maxRps: 100_000,
  tokenBucketCapacity: 1_000_000,
  maxConcurrent: 64,
})

interface Domains {
  readonly host: ActorHost
  readonly limiters: Actors<LimiterMessage>
  readonly breakers: Actors<BreakerMessage>
}

function newDomains(
  config: RateLimitConfig,
  onGrant: (domain: string, id: string) => void,
  tokens = 0,
  snapshots?: SnapshotStore,
): Domains {
  const host = newHost(snapshots)
  const limiterChart = statechartOf(limiterMachine(config))
  const breakerChart = statechartOf(breakerMachine(config))
  const limiters = host.register<LimiterMessage, LimiterCommand>({
    name: 'limiter',
    chart: () => limiterChart,
    input: () => ({ tokens }),
    isDurable: true,
    idleMs: 0,
    perform: (command, domain) => {
      if (command.type === 'grant') onGrant(domain, command.id)
    },
  })
  const breakers = host.register<BreakerMessage, BreakerCommand>({
    name: 'breaker',
    chart: () => breakerChart,
    input: () => ({}),
    isDurable: true,
    idleMs: 0,
    perform: (command, domain) => {
      if (command.type === 'admit') limiters.send(domain, { type: 'ACQUIRE', id: command.id })
    },
  })
  return { host, limiters, breakers }
}

async function permitPairs(): Promise<void> {
  const count = 60_000
  const pairs = await bestRate(count, () => permits(count))
  const bare = await bestRate(count, () => bareEvents(count * 4))
  line('4 events on one bare XState actor', perSecond(bare), 'a counter: assign and emit')
  line(
    'acquire + feedback through breaker and limiter',
    perSecond(pairs),
    `aim 100,000/s; 4 events; ${(pairs / bare).toFixed(2)} × bare`,
  )
}

/** Admitted by the breaker, granted by the limiter, answered to both: over 100 domains. */
function permits(count: number): Promise<void> {
  return new Promise((resolve) => {
    let granted = 0
    let asked = 0
    const ask = (domain: string) => {
      if (asked === count) return
      domains.breakers.send(domain, { type: 'ADMIT', id: `p${asked++}` })
    }
    const domains = newDomains(
      generous,
      (domain, id) => {
        const answer = {
          id,
          kind: 'success',
          latencyMs: 20,
          retryAfterMs: null,
          ends: true,
        } as const
        domains.limiters.send(domain, { type: 'FEEDBACK', ...answer })
        domains.breakers.send(domain, { type: 'FEEDBACK', ...answer })
        if (++granted < count) ask(domain)
        else {
          domains.host.halt()
          resolve()
        }
      },
      1_000_000,
    )
    for (let index = 0; index < 800; index++) ask(`host-${index % 100}.example`)
  })
}

function bareEvents(count: number): void {
  const machine = setup({
    types: {
      context: {} as { count: number },
      events: {} as { type: 'TICK' },
      emitted: {} as { type: 'ticked' },
    },
  }).createMachine({
    context: { count: 0 },
    on: {
      TICK: {
        actions: [assign({ count: ({ context }) => context.count + 1 }), emit({ type: 'ticked' })],
      },
    },
  })
  const actor = createActor(machine)
  actor.on('*', () => {})
  actor.start()
  for (let index = 0; index < count; index++) actor.send({ type: 'TICK' })
}

async function idleDomains(): Promise<void> {
  for (const requests of [1, 64]) {
    const bytes = await idleDomainBytes(requests)
    line(
      `idle domain (limiter + breaker) after ${requests} request${requests > 1 ? 's' : ''}`,
      `${Math.round(bytes).toLocaleString('en')} B`,
      'aim ≤ 8,192 B, live and in memory',
    )
  }
}

/** The store is left out: what is weighed is the host and its actors. */
async function idleDomainBytes(requests: number): Promise<number> {
  const count = 20_000
  // Whatever earlier rounds left behind has to be gone before weighing.
  for (let turn = 0; turn < 3; turn++)
    await new Promise<void>((resolve) => systemClock.soon(resolve))
  const before = heapBytes()
  const domains = newDomains(
    generous,
    (domain, id) => {
      const answer = { id, kind: 'success', latencyMs: 20, retryAfterMs: null, ends: true } as const
      domains.limiters.send(domain, { type: 'FEEDBACK', ...answer })
      domains.breakers.send(domain, { type: 'FEEDBACK', ...answer })
    },
    1_000_000,
    forgetful,
  )
  for (let request = 0; request < requests; request++) {
    for (let index = 0; index < count; index++)
      domains.breakers.send(`host-${index}.example`, { type: 'ADMIT', id: `p${request}` })
    await quiet(domains.host)
  }
  const bytes = (heapBytes() - before) / count
  if (domains.limiters.size !== count) throw new Error('not all are live')
  domains.host.halt()
  return bytes
}

async function activateAndEvict(): Promise<void> {
  const count = 100_000
  const host = newHost(forgetful)
  const chart = statechartOf(limiterMachine(generous))
  const limiters = host.register<LimiterMessage, LimiterCommand>({
    name: 'limiter',
    chart: () => chart,
    input: () => ({}),
    isDurable: true,
    idleMs: 0,
    perform: () => {},
  })
  const before = heapBytes()
  for (let index = 0; index < count; index++)
    limiters.send(`host-${index}.example`, { type: 'RECOVERED' })
  await quiet(host)
  const live = heapBytes()
  const activated = limiters.size
  host.evictIdle()
  await quiet(host)
  const after = heapBytes()
  line(
    `${activated.toLocaleString('en')} domains activated, then evicted`,
    `${limiters.size} left`,
    `heap +${mb(live - before)} while live, +${mb(after - before)} after`,
  )
  host.halt()
}

async function restores(): Promise<void> {
  const count = 200_000
  const chart = statechartOf(limiterMachine(generous))
  const { snapshot } = chart.begin({ at: 0, roll: 0, tokens: 5 })
  const text = encodeSnapshot(chart, snapshot)
  const rate = await bestRate(count, () => {
    for (let index = 0; index < count; index++) {
      const decoded = decodeSnapshot(chart, { id: 'x', fence: 0, seq: 1, dueAt: null, text })
      if (decoded.kind !== 'restored') throw new Error(decoded.reason)
    }
  })
  line('limiter snapshots restored from text', perSecond(rate), `${text.length} B of JSON each`)
}

// ── inspection ──────────────────────────────────────────────────────────────────────────────────

async function inspection(): Promise<void> {
  const cost = { plain: [] as number[], inspected: [] as number[], beside: [] as number[] }
  const kinds = [
    ['plain', undefined],
    ['inspected', 'busy'],
    ['beside', 'other'],
  ] as const
  await acquires(undefined)
  // Interleaved and in turning order, so that a slow moment falls on all three alike.
  for (let round = 0; round < 15; round++)
    for (let turn = 0; turn < kinds.length; turn++) {
      const [name, inspected] = kinds[(round + turn) % kinds.length]!
      cost[name].push(await acquires(inspected))
    }
  const share = (rates: number[]) =>
    `${((median(cost.plain) / median(rates) - 1) * 100).toFixed(1)} %`
  line('inspection attached to the actor', share(cost.inspected), 'XState steps what is looked at')
  line('inspection attached to another actor', share(cost.beside), 'aim 0 %, median of fifteen')
}

async function acquires(inspected: 'busy' | 'other' | undefined): Promise<number> {
  const count = 20_000
  const domains = newDomains(generous, () => {}, 1_000_000)
  domains.limiters.send('other', { type: 'RESET' })
  let seen = 0
  if (inspected)
    domains.host.inspect('limiter', inspected, () => {
      seen++
    })
  const answer = { kind: 'success', latencyMs: 20, retryAfterMs: null, ends: true } as const
  const started = performance.now()
  for (let index = 0; index < count; index++) {
    const id = `p${index}`
    domains.limiters.send('busy', { type: 'ACQUIRE', id })
    domains.limiters.send('busy', { type: 'FEEDBACK', id, ...answer })
    if (index % 400 === 399) await quiet(domains.host)
  }
  const rate = count / (performance.now() - started)
  if (inspected === 'busy' && seen < count) throw new Error(`saw only ${seen} steps`)
  domains.host.halt()
  return rate
}

// ── around ──────────────────────────────────────────────────────────────────────────────────────

function newHost(snapshots: SnapshotStore = new MemorySnapshots()): ActorHost {
  return new ActorHost({ clock: systemClock, chance: systemChance, snapshots })
}

/** Takes everything and keeps nothing: for weighing the host without its store. */
const forgetful: SnapshotStore = {
  load: (ids) => ids.map(() => undefined),
  write: (writes) => writes.map(() => 'written'),
}

/** Until nothing is waiting for a turn. */
async function quiet(host: ActorHost): Promise<void> {
  do await new Promise<void>((resolve) => systemClock.soon(resolve))
  while (!host.isQuiet)
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

function mb(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MB`
}
