import type { CancelVerdict, JobDesk, PauseScope, StoreLimits } from '../job-store.ts'
import { remembered, tallied, tasked } from './bookkeeping.ts'
import type { Database } from './database.ts'
import type { Announcer } from './hints.ts'
import { conditionsOf } from './job-filter.ts'
import { isJobId } from './job-row.ts'
import { storable } from './json-rows.ts'

type Steering = Pick<JobDesk, 'cancel' | 'replay' | 'pause' | 'resume' | 'pauses'>

/**
 * Ends a job that waits, and its task with it; asks for the end of one that runs. Whoever claims or
 * settles it at the same moment comes before or after, never in between. Parameters: job.
 */
const cancelStatement = (s: string) => `
WITH held AS MATERIALIZED (
  SELECT id, state, task_id, node_id FROM ${s}.jobs WHERE id = $1 FOR UPDATE
), waiting AS MATERIALIZED (
  SELECT id FROM ${s}.tasks WHERE state = 'QUEUED' AND id IN (
    SELECT task_id FROM held WHERE held.state IN ('queued', 'scheduled'))
  FOR UPDATE
), cancelled AS (
  UPDATE ${s}.jobs AS job
  SET state = 'cancelled', finished_at = (SELECT ${s}.now_ms()), reason = NULL
  FROM held WHERE job.id = held.id AND held.state IN ('queued', 'scheduled')
), requested AS (
  UPDATE ${s}.jobs AS job SET is_cancel_requested = true
  FROM held WHERE job.id = held.id AND held.state = 'running'
), ended AS (
  SELECT node_id, 'cancelled' AS state FROM held WHERE held.state IN ('queued', 'scheduled')
), ends AS (
  SELECT id AS task_id, 'CANCELLED' AS state, NULL AS result, NULL AS error_code,
    NULL AS error_message
  FROM waiting
), ${tasked(s)}, ${tallied(s)}
SELECT CASE
    WHEN state IN ('queued', 'scheduled') THEN 'cancelled'
    WHEN state = 'running' THEN 'requested'
    ELSE 'final'
  END AS verdict
FROM held LEFT JOIN waiting ON waiting.id = held.task_id`

/**
 * Gives final jobs all their attempts again, the newest first; their tasks wait for them again. The
 * fence goes on counting: what an earlier holder still sends stays lost. Parameters: body or null,
 * jobsMax, past attempts kept, then those of the filter.
 */
const replayStatement = (s: string, conditions: string) => `
WITH chosen AS (
  SELECT id FROM ${s}.jobs
  WHERE state IN ('done', 'skipped', 'failed', 'dead', 'cancelled') AND ${conditions}
  ORDER BY id DESC LIMIT $2
), held AS MATERIALIZED (
  SELECT id, attempt, fence, started_at, finished_at, node_id, task_id, error_code, error_message
  FROM ${s}.jobs
  WHERE state IN ('done', 'skipped', 'failed', 'dead', 'cancelled')
    AND id IN (SELECT id FROM chosen)
  ORDER BY id FOR UPDATE
), replayed AS (
  UPDATE ${s}.jobs AS job
  SET state = 'queued', lane = type || ' ' || domain, run_at = (SELECT ${s}.now_ms()),
    body = coalesce($1, body), attempt = 0, crashes = 0, since_fence = job.fence + 1, is_cancel_requested = false,
    finished_at = NULL, result = NULL, progress = NULL, error_code = NULL, error_message = NULL,
    reason = NULL
  FROM held WHERE job.id = held.id
), given_up AS MATERIALIZED (
  SELECT id FROM ${s}.tasks
  WHERE state IN ('FAILED', 'CANCELLED') AND id IN (SELECT task_id FROM held)
  ORDER BY id FOR UPDATE
), reopened AS (
  UPDATE ${s}.tasks SET state = 'QUEUED', updated_at = (SELECT ${s}.now_ms()), result = NULL,
    error_code = NULL, error_message = NULL
  FROM given_up WHERE tasks.id = given_up.id
), past AS (
  SELECT id AS job_id, attempt, fence, started_at, finished_at AS ended_at, node_id,
    'replay' AS kind, error_code, error_message
  FROM held
), ${remembered(s, '$3')}
SELECT id FROM held ORDER BY id DESC`

export function postgresSteering(
  database: Database,
  limits: StoreLimits,
  hints: Announcer,
): Steering {
  const s = database.schema

  return {
    async cancel(id) {
      if (!isJobId(id)) return 'unknown'
      const [row] = await database.query<{ verdict: CancelVerdict }>(cancelStatement(s), [id])
      if (row?.verdict === 'requested') hints.announce('cancel')
      return row?.verdict ?? 'unknown'
    },

    async replay(filter, { body, jobsMax }) {
      const { text, values } = conditionsOf(
        { states: ['dead', 'failed', 'cancelled'], ...filter },
        [body ?? null, jobsMax, limits.pastAttemptsMax],
      )
      const rows = await database.query<{ id: string }>(replayStatement(s, text), values)
      if (rows.length > 0) hints.announce('jobs')
      return rows.map(({ id }) => id)
    },

    async pause(scope) {
      await database.query(`INSERT INTO ${s}.pauses (scope) VALUES ($1) ON CONFLICT DO NOTHING`, [
        written(scope),
      ])
    },

    async resume(scope) {
      await database.query(`DELETE FROM ${s}.pauses WHERE scope = $1`, [written(scope)])
      hints.announce('jobs')
    },

    async pauses() {
      const rows = await database.query<{ scope: string }>(
        `SELECT scope FROM ${s}.pauses ORDER BY scope`,
      )
      return rows.map(({ scope }) => read(scope))
    },
  }
}

function written(scope: PauseScope): string {
  return scope.kind === 'all' ? '*' : `${scope.kind}:${storable(scope.name)}`
}

function read(scope: string): PauseScope {
  if (scope === '*') return { kind: 'all' }
  const [kind = ''] = scope.split(':', 1)
  return { kind: kind === 'type' ? 'type' : 'domain', name: scope.slice(kind.length + 1) }
}
