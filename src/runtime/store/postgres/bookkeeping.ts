/**
 * Parts that several statements have in common: CTEs that read another one, `ended`, `past` or
 * `ends`, which the statement brings along.
 */

// As many as a pool has connections, or a few more: enough that two rarely meet in one.
const TALLY_SLOTS = 16

/**
 * Counts jobs that ended, from `ended (node_id, state)`. The last locks a transaction takes, in one
 * order, and spread over slots by connection: settlements of one node do not wait for each other.
 */
export const tallied = (schema: string) => `
tallied AS (
  INSERT INTO ${schema}.tallies AS tally (node_id, state, slot, count)
  SELECT coalesce(node_id, ''), state, pg_backend_pid() % ${TALLY_SLOTS}, count(*)
  FROM ended GROUP BY coalesce(node_id, ''), state ORDER BY 1, 2
  ON CONFLICT (node_id, state, slot) DO UPDATE SET count = tally.count + excluded.count
)`

/**
 * Writes past attempts, from `past (job_id, attempt, fence, started_at, ended_at, node_id, kind,
 * error_code, error_message)`, and removes the oldest beyond `keep`, the parameter that holds the number.
 */
export const remembered = (schema: string, keep: string) => `
remembered AS (
  INSERT INTO ${schema}.attempts (job_id, attempt, fence, started_at, ended_at, node_id, kind,
    error_code, error_message)
  SELECT job_id, attempt, fence, coalesce(started_at, ended_at), ended_at, coalesce(node_id, ''),
    kind, error_code, error_message
  FROM past
), forgotten AS (
  -- The rows just written are not seen here: one less is kept of those before.
  DELETE FROM ${schema}.attempts USING (
    SELECT old.job_id, old.seq FROM past CROSS JOIN LATERAL (
      SELECT job_id, seq FROM ${schema}.attempts WHERE attempts.job_id = past.job_id
      ORDER BY seq DESC OFFSET ${keep}::integer - 1
    ) AS old
  ) AS surplus
  WHERE attempts.job_id = surplus.job_id AND attempts.seq = surplus.seq
)`

/**
 * Tasks a job's end changes, from `ends (task_id, state, result, error_code, error_message)`. The
 * statement has found them QUEUED and locked them before, where it reads what it answers: jobs
 * first, then tasks, then tallies, in every statement.
 */
export const tasked = (schema: string) => `
tasked AS (
  UPDATE ${schema}.tasks AS task
  SET state = ends.state, updated_at = (SELECT ${schema}.now_ms()), result = ends.result,
    error_code = ends.error_code, error_message = ends.error_message
  FROM ends WHERE task.id = ends.task_id
)`
