import type { StampedEvent } from '../actors/statechart.ts'
import { flowOf } from '../machines/admission.ts'
import { refilled } from '../machines/budget.ts'
import type { Feedback } from '../machines/feedback.ts'
import { type LimiterContext, type LimiterMessage, limiterMachine } from '../machines/limiter.ts'
import { rateLimitConfig } from '../machines/rate-limit-config.ts'
import type { ProofSpec } from './proof-spec.ts'

const config = rateLimitConfig({
  // With a fixed rate neither the pace nor the latency steers anything: the view may leave both out.
  strategy: 'fixed',
  initialRps: 1,
  tokenBucketCapacity: 2,
  maxConcurrent: 2,
  waitersMax: 2,
  permitMs: 2_000,
  waitMsMax: 2_000,
  // A ramp would make every deadline a fraction of its own; budget.ts is proved by properties.
  slowStartMs: 0,
})

const IDS = ['a', 'b', 'c', 'd', 'e']
const LATER_MS = 1_000

/** Bucket of two, two at once, two waiters: every order of asking, answering and running out. */
export const limiterSpec: ProofSpec = {
  machine: limiterMachine(config),
  bounds:
    'rate 1/s, bucket 2, 2 requests at once, 2 waiters, waits and leases of 2 s, Retry-After 2 s',
  input: {},
  startAt: 1_000_000,
  rests: ['idle'],

  *events({ context }, now) {
    const { permits, waiters, dueAt } = context as LimiterContext
    const at = (ms: number, message: LimiterMessage): StampedEvent => ({
      ...message,
      at: now + ms,
      roll: 0,
    })
    const known = [...permits, ...waiters].map(({ id }) => id)
    const stranger = IDS.find((id) => !known.includes(id))
    if (stranger !== undefined) {
      yield at(0, { type: 'ACQUIRE', id: stranger })
      if (dueAt === null) yield at(LATER_MS, { type: 'ACQUIRE', id: stranger })
      yield at(0, { type: 'FEEDBACK', ...answer(stranger, {}) })
      yield at(0, { type: 'FEEDBACK', ...answer(stranger, { retryAfterMs: 2_000 }) })
    }
    const first = known[0]
    if (first !== undefined) yield at(0, { type: 'ACQUIRE', id: first })
    for (const { id } of permits) {
      yield at(0, { type: 'FEEDBACK', ...answer(id, {}) })
      yield at(0, { type: 'FEEDBACK', ...answer(id, { kind: 'throttled', ends: true }) })
      yield at(0, { type: 'FEEDBACK', ...answer(id, { retryAfterMs: 2_000, ends: true }) })
      yield at(0, { type: 'RELEASED', id })
      yield at(0, { type: 'ABANDONED', id })
    }
    for (const { id } of waiters) yield at(0, { type: 'ABANDONED', id })
    if (dueAt !== null) {
      yield at(Math.max(0, dueAt - now), { type: 'DUE' })
      // Down when the deadline came: what ran out is found out on the way back.
      yield at(Math.max(0, dueAt - now), { type: 'RESUMED' })
    }
    for (const type of ['PAUSED', 'CONTINUED', 'RECOVERED', 'RESET', 'RESUMED'] as const)
      yield at(0, { type })
  },

  view(context, now) {
    const limiter = context as unknown as LimiterContext
    const { budget, waiters, permits, notBefore, dueAt } = limiter
    const ago = (at: number | null) => (at === null ? null : at - now)
    return [
      // When it was last filled makes no difference, only what it holds now.
      refilled(budget, flowOf(limiter, config), now).tokens,
      waiters.map(({ id, rank, until }) => [id, ago(rank), ago(until)]),
      permits.map(({ id, until }) => [id, ago(until)]),
      ago(notBefore),
      ago(dueAt),
    ]
  },
}

function answer(id: string, part: Partial<Feedback>): Feedback {
  return { id, kind: 'success', latencyMs: 10, retryAfterMs: null, ends: false, ...part }
}
