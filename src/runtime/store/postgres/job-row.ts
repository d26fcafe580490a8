/** A job as it lies in the table, and as the port shows it. */
import type { JobRecord, JobState, StoredError } from '../job-store.ts'

export interface JobRow {
  id: string
  type: string
  version: string
  body: string
  key: string | null
  domain: string
  priority: number
  state: JobState
  run_at: number
  created_at: number
  started_at: number | null
  finished_at: number | null
  attempt: number
  attempts_max: number
  crashes: number
  fence: number
  node_id: string | null
  task_id: string | null
  is_cancel_requested: boolean
  result: string | null
  progress: string | null
  error_code: string | null
  error_message: string | null
  reason: string | null
  trace_id: string | null
  span_id: string | null
}

export const jobColumns = `id, type, version, body, key, domain, priority, state, run_at, created_at,
  started_at, finished_at, attempt, attempts_max, crashes, fence, node_id, task_id,
  is_cancel_requested, result, progress, error_code, error_message, reason, trace_id, span_id`

export function jobRecord(row: JobRow): JobRecord {
  return {
    id: row.id,
    type: row.type,
    version: row.version,
    body: row.body,
    key: row.key,
    domain: row.domain,
    priority: row.priority,
    state: row.state,
    runAt: row.run_at,
    createdAt: row.created_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    attempt: row.attempt,
    attemptsMax: row.attempts_max,
    crashes: row.crashes,
    fence: row.fence,
    nodeId: row.node_id,
    taskId: row.task_id,
    isCancelRequested: row.is_cancel_requested,
    result: row.result,
    progress: row.progress,
    error: storedError(row),
    reason: row.reason,
    traceId: row.trace_id,
    spanId: row.span_id,
  }
}

export function storedError(row: {
  error_code: string | null
  error_message: string | null
}): StoredError | null {
  return row.error_code === null ? null : { code: row.error_code, message: row.error_message ?? '' }
}

/** What is no UUID names no job; PostgreSQL would call it an error. */
export function isJobId(id: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id)
}
