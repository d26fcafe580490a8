/** A row of `jobs` as the port shows it. */
import type { JobRecord } from '../job-store.ts'
import { errorOf } from './past-attempts.ts'

export const jobColumns = `
  id, type, version, body, key, domain, priority, state, run_at AS runAt, attempt,
  attempts_max AS attemptsMax, crashes, fence, node_id AS nodeId, created_at AS createdAt,
  started_at AS startedAt, finished_at AS finishedAt,
  is_cancel_requested AS isCancelRequested, task_id AS taskId, result, progress,
  error_code AS errorCode, error_message AS errorMessage, reason, trace_id AS traceId,
  span_id AS spanId`

/** What `jobColumns` selects. */
export interface JobRow extends Omit<JobRecord, 'isCancelRequested' | 'error'> {
  readonly isCancelRequested: number
  readonly errorCode: string | null
  readonly errorMessage: string | null
}

export function jobRecord({
  isCancelRequested,
  errorCode,
  errorMessage,
  ...rest
}: JobRow): JobRecord {
  return {
    ...rest,
    isCancelRequested: isCancelRequested === 1,
    error: errorOf(errorCode, errorMessage),
  }
}
