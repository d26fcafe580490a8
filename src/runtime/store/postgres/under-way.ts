import type { JobNote, JobQueue } from '../job-store.ts'
import type { Database } from './database.ts'
import type { Announcer } from './hints.ts'
import { isJobId } from './job-row.ts'
import { jsonRows } from './json-rows.ts'

/**
 * Writes what running jobs tell, where the fence holds the job; rows are locked in the order of ids.
 * Parameters: notes.
 */
const noteStatement = (s: string) => `
WITH held AS MATERIALIZED (
  SELECT given.*
  FROM json_to_recordset($1) AS given (n integer, id uuid, fence integer, attempt integer,
    progress text)
  CROSS JOIN LATERAL (
    SELECT state, fence FROM ${s}.jobs WHERE jobs.id = given.id OFFSET 0 FOR UPDATE
  ) AS job
  WHERE job.state = 'running' AND job.fence = given.fence
), latest AS (
  SELECT id, (array_agg(attempt ORDER BY n DESC) FILTER (WHERE attempt IS NOT NULL))[1] AS attempt,
    (array_agg(progress ORDER BY n DESC) FILTER (WHERE progress IS NOT NULL))[1] AS progress
  FROM held GROUP BY id
), noted AS (
  UPDATE ${s}.jobs AS job
  SET attempt = coalesce(latest.attempt, job.attempt),
    progress = coalesce(latest.progress, job.progress)
  FROM latest WHERE job.id = latest.id
)
SELECT n FROM held`

/** Parameters: jobsMax. */
const promoteStatement = (s: string) => `
WITH due AS MATERIALIZED (
  SELECT id FROM ${s}.jobs WHERE state = 'scheduled' AND run_at <= (SELECT ${s}.now_ms())
  ORDER BY run_at LIMIT $1
  FOR UPDATE SKIP LOCKED
), promoted AS (
  UPDATE ${s}.jobs AS job SET state = 'queued', reason = NULL FROM due WHERE job.id = due.id
  RETURNING job.id
)
SELECT (SELECT count(*) FROM promoted) AS promoted,
  (SELECT run_at - ${s}.now_ms() FROM ${s}.jobs
    WHERE state = 'scheduled' AND id NOT IN (SELECT id FROM promoted)
    ORDER BY run_at LIMIT 1) AS next_due_in_ms`

export function postgresUnderWay(
  database: Database,
  hints: Announcer,
): Pick<JobQueue, 'note' | 'promote' | 'cancellations'> {
  const { schema } = database

  return {
    async note(notes) {
      const rows = notes
        .map(({ id, fence, attempt, progress }: JobNote, n) => ({
          n,
          id,
          fence,
          attempt,
          progress,
        }))
        .filter(({ id }) => isJobId(id))
        .sort((one, other) => (one.id < other.id ? -1 : one.id > other.id ? 1 : one.n - other.n))
      const held =
        rows.length === 0
          ? []
          : await database.query<{ n: number }>(noteStatement(schema), [jsonRows(rows)])
      const noted = new Set(held.map(({ n }) => n))
      return notes.map((_, n) => (noted.has(n) ? 'noted' : 'lost'))
    },

    async promote(jobsMax) {
      const [answer] = await database.query<{ promoted: number; next_due_in_ms: number | null }>(
        promoteStatement(schema),
        [jobsMax],
      )
      const promoted = answer?.promoted ?? 0
      if (promoted > 0) hints.announce('jobs')
      return { promoted, nextDueInMs: answer?.next_due_in_ms ?? null }
    },

    async cancellations(nodeId) {
      const rows = await database.query<{ id: string }>(
        `SELECT id FROM ${schema}.jobs
         WHERE state = 'running' AND is_cancel_requested AND node_id = $1 ORDER BY id`,
        [nodeId],
      )
      return rows.map(({ id }) => id)
    },
  }
}
