/** The attempts of a job that did not end it. */
import type { PastAttempt, StoredError } from '../job-store.ts'
import type { StoreContext } from './store-context.ts'

/** Kept with the newest `pastAttemptsMax` of its job; older ones go. */
export function recordAttemptStatement({
  database,
  limits,
}: StoreContext): (job: number, past: PastAttempt) => void {
  const insert = database.prepare(`
    INSERT INTO attempts
      (job, attempt, fence, node_id, started_at, ended_at, kind, error_code, error_message)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`)
  const trim = database.prepare(`
    DELETE FROM attempts WHERE job = ?1 AND id <=
      (SELECT id FROM attempts WHERE job = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`)
  return (job, { attempt, fence, nodeId, startedAt, endedAt, kind, error }) => {
    const { code = null, message = null } = error ?? {}
    insert.run(job, attempt, fence, nodeId, startedAt, endedAt, kind, code, message)
    trim.run(job, limits.pastAttemptsMax)
  }
}

/** In the order in which they ended. */
export function pastAttemptsStatement({
  database,
}: StoreContext): (jobId: string) => readonly PastAttempt[] {
  const select = database.prepare(`
    SELECT attempts.attempt, attempts.fence, attempts.node_id AS nodeId,
      attempts.started_at AS startedAt, attempts.ended_at AS endedAt, attempts.kind,
      attempts.error_code AS code, attempts.error_message AS message
    FROM jobs JOIN attempts ON attempts.job = jobs.seq
    WHERE jobs.id = ? ORDER BY attempts.id`)
  return (jobId) =>
    (select.all(jobId) as unknown as (Omit<PastAttempt, 'error'> & ErrorColumns)[]).map(
      ({ code, message, ...past }) => ({ ...past, error: errorOf(code, message) }),
    )
}

interface ErrorColumns {
  readonly code: string | null
  readonly message: string | null
}

export function errorOf(code: string | null, message: string | null): StoredError | null {
  return code === null ? null : { code, message: message ?? '' }
}
