import type { StampedEvent } from '../actors/statechart.ts'
import { type BreakerContext, type BreakerMessage, breakerMachine } from '../machines/breaker.ts'
import type { Feedback } from '../machines/feedback.ts'
import { rateLimitConfig } from '../machines/rate-limit-config.ts'
import { total, type Window } from '../machines/window.ts'
import type { ProofSpec } from './proof-spec.ts'

const config = rateLimitConfig({
  statsWindowMs: 2_000,
  statsBucketMs: 1_000,
  domainStateTtlMs: 2_000,
  errorRateThreshold: 0.5,
  minSamplesToTrip: 4,
  consecutiveFailThreshold: 2,
  openStateMs: 1_000,
  openStateMsMax: 2_000,
  halfOpenProbes: 2,
  permitMs: 3_000,
})

const SAMPLES_MAX = 4
const BUCKET_MS = config.statsBucketMs

/** Two failures in a row, four samples in a window of two buckets, two probes. */
export const breakerSpec: ProofSpec = {
  machine: breakerMachine(config),
  bounds: '2 failures in a row, 4 samples in 2 buckets of 1 s, open for 1 to 2 s, 2 probes of 3 s',
  input: {},
  startAt: 1_000_000,
  rests: ['closed'],

  *events({ context }, now) {
    const { window, probes, dueAt } = context as BreakerContext
    const at = (ms: number, message: BreakerMessage): StampedEvent => ({
      ...message,
      at: now + ms,
      roll: 0,
    })
    const known = probes.map(({ id }) => id)
    const stranger = ['a', 'b', 'c'].find((id) => !known.includes(id)) ?? 'd'
    for (const id of [stranger, ...known]) {
      yield at(0, { type: 'ADMIT', id })
      yield at(0, { type: 'ABANDONED', id })
      yield at(0, { type: 'FEEDBACK', ...answer(id, { kind: 'throttled', retryAfterMs: 1_000 }) })
      if (total(window, 'total', now, config) >= SAMPLES_MAX) continue
      for (const kind of ['success', 'network'] as const) {
        yield at(0, { type: 'FEEDBACK', ...answer(id, { kind }) })
        if (dueAt === null) yield at(BUCKET_MS, { type: 'FEEDBACK', ...answer(id, { kind }) })
      }
    }
    if (dueAt !== null) yield at(Math.max(0, dueAt - now), { type: 'DUE' })
    yield at(0, { type: 'TRIPPED', until: now + 1_000 })
    yield at(0, { type: 'RESET' })
  },

  view(context, now) {
    const { window, consecutiveFailures, openings, probes, probesSucceeded, dueAt } =
      context as unknown as BreakerContext
    // Once open, what was counted is not read again: it is forgotten before the breaker closes.
    const isRead = openings === 0
    return [
      isRead && [consecutiveFailures, recent(window, now)],
      openings,
      probesSucceeded,
      probes.map(({ id, until }) => [id, until - now]),
      dueAt === null ? null : dueAt - now,
    ]
  },
}

/** The ring from its latest bucket on: where it lies in memory makes no difference. */
function recent({ latest, counts }: Window, now: number): readonly number[] {
  const rows = config.statsWindowMs / BUCKET_MS
  const age = Math.floor(now / BUCKET_MS) - latest
  if (counts.length === 0 || age >= rows) return []
  const start = (latest % rows) * (counts.length / rows)
  return [age, ...counts.slice(start), ...counts.slice(0, start)]
}

function answer(id: string, part: Partial<Feedback>): Feedback {
  return { id, kind: 'success', latencyMs: 10, retryAfterMs: null, ends: true, ...part }
}
