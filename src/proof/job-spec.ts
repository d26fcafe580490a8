import type { Machine, StampedEvent } from '../actors/statechart.ts'
import type { Outcome } from '../machines/decision.ts'
import type { JobContext, JobMessage, JobPolicy } from '../machines/job.ts'
import type { ProofSpec } from './proof-spec.ts'

export const jobProofPolicy: JobPolicy = {
  backoff: { kind: 'schedule', delaysMs: [100] },
  pauseMsMax: 1_000,
  attemptMsMax: 10_000,
}

const ATTEMPTS_MAX = 2
const input = { jobId: 'j', attempt: 1, attemptsMax: ATTEMPTS_MAX, fence: 1 }
const error = { code: 'X', message: 'x' }

/**
 * Two attempts, one claim after a crash. `answers` are the events that the type's own states wait
 * for, with the payloads that matter.
 */
export function jobSpec(
  machine: Machine,
  answers: readonly ({ readonly type: string } & Readonly<Record<string, unknown>>)[],
): ProofSpec {
  return {
    machine,
    bounds: '2 attempts, pauses of 100 ms in memory or 1 h in the queue, attempts of at most 10 s',
    input,
    startAt: 1_000_000,
    rests: ['released'],

    *events({ context }, now) {
      const { attempt, fence, dueAt } = context as JobContext
      const counted = Math.min(attempt + 1, ATTEMPTS_MAX)
      const stamp = { at: now, roll: 0 }
      const outcomes: Outcome[] = [
        { kind: 'done', result: 1 },
        { kind: 'skipped', reason: 'gone' },
        { kind: 'retry', error },
        { kind: 'retry', error, afterMs: 3_600_000 },
        { kind: 'wait', until: now + 500, reason: 'busy' },
        { kind: 'wait', until: now + 3_600_000, reason: 'busy' },
        { kind: 'reject', error },
        { kind: 'cancelled' },
      ]
      const messages: JobMessage[] = [
        ...outcomes.map((outcome) => ({ type: 'CONCLUDED' as const, outcome })),
        { type: 'CHECKPOINTED', checkpoint: 1 },
        { type: 'PROGRESSED', progress: { done: 1, total: 2, note: '' } },
        { type: 'COUNTED', attempt: counted },
        { type: 'SETTLED' },
        { type: 'CANCELLED' },
        { type: 'LEASE_LOST' },
        { type: 'DRAINED' },
        { type: 'RESUMED', input: { ...input, fence } },
        { type: 'RESUMED', input: { ...input, fence: fence + 1, attempt: counted } },
      ]
      for (const message of [...messages, ...answers]) yield { ...message, ...stamp }
      if (dueAt !== null) {
        const due: StampedEvent = { type: 'DUE', at: Math.max(dueAt, now), roll: 0 }
        yield due
      }
    },

    view(context, now) {
      // Of the fence it matters only whether the next claim's is newer.
      const { dueAt, decision, fence: _, ...rest } = context as unknown as JobContext
      return [
        rest,
        decision && 'runAt' in decision ? { ...decision, runAt: decision.runAt - now } : decision,
        dueAt === null ? null : dueAt - now,
      ]
    },
  }
}
