import type { Envelope } from '../jobs/envelope.ts'
import type { JobRecord, JobState, PastAttempt, StoredError } from './store/job-store.ts'
import { tracingOf } from './tracing.ts'

/** A job as people see it. */
export interface JobView {
  readonly id: string
  readonly state: JobState
  readonly envelope: Envelope
  readonly key: string | null
  readonly domain: string
  readonly priority: number
  readonly runAt: string
  readonly startedAt: string | null
  readonly finishedAt: string | null
  readonly node: string | null
  readonly taskId: string | null
  readonly crashes: number
  readonly fence: number
  readonly isCancelRequested: boolean
  readonly progress: unknown
  readonly result: unknown
  readonly error: StoredError | null
  readonly reason: string | null
  /** What its statechart on this node says, while it runs here. */
  readonly statechart: string | null
  readonly attempts: readonly PastAttemptView[]
}

export interface PastAttemptView extends Omit<PastAttempt, 'startedAt' | 'endedAt'> {
  readonly startedAt: string
  readonly endedAt: string
}

export function jobView(
  record: JobRecord,
  pastAttempts: readonly PastAttempt[],
  statechart: string | null,
): JobView {
  const { id, state, key, domain, priority, taskId, crashes, fence, isCancelRequested } = record
  return {
    id,
    state,
    envelope: envelopeOf(record),
    key,
    domain,
    priority,
    runAt: instant(record.runAt),
    startedAt: instantOrNull(record.startedAt),
    finishedAt: instantOrNull(record.finishedAt),
    node: record.nodeId,
    taskId,
    crashes,
    fence,
    isCancelRequested,
    progress: parsed(record.progress),
    result: parsed(record.result),
    error: record.error,
    reason: record.reason,
    statechart,
    attempts: pastAttempts.map((attempt) => ({
      ...attempt,
      startedAt: instant(attempt.startedAt),
      endedAt: instant(attempt.endedAt),
    })),
  }
}

export function envelopeOf(record: JobRecord): Envelope {
  const { id, type, version, createdAt, attempt, attemptsMax, body } = record
  const { traceId, spanId } = tracingOf(record)
  return {
    header: {
      job_id: id,
      type,
      version,
      created_at: instant(createdAt),
      attempt,
      max_attempts: attemptsMax,
    },
    body: JSON.parse(body),
    tracing: { trace_id: traceId, span_id: spanId },
  }
}

function parsed(text: string | null): unknown {
  return text === null ? null : JSON.parse(text)
}

/** The last instant a date can hold stands for whatever lies beyond it. */
function instant(ms: number): string {
  return new Date(Math.min(ms, 8.64e15)).toISOString()
}

function instantOrNull(ms: number | null): string | null {
  return ms === null ? null : instant(ms)
}
