import type { Settlement, SettleVerdict, StoreLimits } from '../job-store.ts'
import { remembered, tallied, tasked } from './bookkeeping.ts'
import type { Database } from './database.ts'
import { isJobId } from './job-row.ts'
import { jsonRows } from './json-rows.ts'

/**
 * The common case, lean: all done, none with a task. Ends those that are held by the fence given, and
 * answers how many. Rows are found one by one in the order given, which is by id, and checked once
 * more when they are written: a row somebody changed meanwhile lies in another place, is left out,
 * and found by the general statement. (IS TRUE keeps the planner from looking for rows by the check
 * instead of by their place.)
 *
 * Parameters: node, settlements.
 */
const doneStatement = (s: string) => `
WITH held AS MATERIALIZED (
  SELECT job.place, given.fence, given.result
  FROM json_to_recordset($2) AS given (id uuid, fence integer, result text)
  CROSS JOIN LATERAL (
    SELECT ctid AS place FROM ${s}.jobs WHERE jobs.id = given.id OFFSET 0
  ) AS job
), ended AS (
  UPDATE ${s}.jobs AS job
  SET state = 'done', settled_fence = job.fence, finished_at = (SELECT ${s}.now_ms()),
    result = held.result
  FROM held
  WHERE job.ctid = held.place
    AND (job.state = 'running' AND job.fence = held.fence AND job.task_id IS NULL) IS TRUE
  RETURNING $1::text AS node_id, job.state
), ${tallied(s)}
SELECT count(*) AS count FROM ended`

/**
 * Any settlements: each is written if its fence holds the job, once. Jobs are locked in the order of
 * their ids, then tasks in the order of theirs. A settlement that is found committed already is
 * answered as it was.
 *
 * Parameters: node, settlements, past attempts kept.
 */
const settleStatement = (s: string) => `
WITH given AS MATERIALIZED (
  SELECT * FROM json_to_recordset($2) AS given (n integer, id uuid, fence integer, kind text,
    delay_ms bigint, result text, error_code text, error_message text, reason text)
), held AS MATERIALIZED (
  SELECT given.n, given.kind, given.delay_ms, given.result, given.error_code, given.error_message,
    given.reason, job.*, job.state = 'running' AND job.fence = given.fence AS is_held,
    job.state <> 'running' AND job.settled_fence = given.fence AND job.fence = given.fence AS is_repeat,
    row_number() OVER (PARTITION BY job.id, given.fence ORDER BY given.n) AS occurrence
  FROM given CROSS JOIN LATERAL (
    SELECT id, state, fence, settled_fence, attempt, started_at, task_id, is_cancel_requested
    FROM ${s}.jobs WHERE jobs.id = given.id OFFSET 0 FOR UPDATE
  ) AS job
), waiting AS MATERIALIZED (
  SELECT task.id FROM (
    SELECT DISTINCT task_id FROM held WHERE is_held AND task_id IS NOT NULL ORDER BY task_id
  ) AS wanted
  CROSS JOIN LATERAL (
    SELECT id, state FROM ${s}.tasks WHERE tasks.id = wanted.task_id OFFSET 0 FOR UPDATE
  ) AS task
  WHERE task.state = 'QUEUED'
), judged AS MATERIALIZED (
  SELECT held.id, attempt, fence, started_at, waiting.id AS task_id, is_cancel_requested, kind,
    delay_ms,
    is_overtaken, outcome, CASE WHEN outcome = kind THEN result END AS result,
    CASE WHEN outcome NOT IN ('skipped', 'cancelled') THEN error_code END AS error_code,
    CASE WHEN outcome NOT IN ('skipped', 'cancelled') THEN error_message END AS error_message,
    CASE WHEN is_overtaken THEN 'Its task had changed meanwhile.'
      WHEN outcome <> 'cancelled' THEN reason END AS reason
  FROM held
  LEFT JOIN waiting ON waiting.id = held.task_id
  CROSS JOIN LATERAL (
    SELECT task_id IS NOT NULL AND waiting.id IS NULL AND kind IN ('done', 'failed', 'dead')
      AS is_overtaken
  ) AS task
  CROSS JOIN LATERAL (
    SELECT CASE
        WHEN is_overtaken THEN 'skipped'
        WHEN kind NOT IN ('requeue', 'park') THEN kind
        WHEN is_cancel_requested THEN 'cancelled'
        WHEN delay_ms > 0 THEN 'scheduled'
        ELSE 'queued'
      END AS outcome
  ) AS judgement
  WHERE is_held AND occurrence = 1
), written AS (
  UPDATE ${s}.jobs AS job
  SET state = outcome,
    settled_fence = job.fence,
    attempt = CASE WHEN kind = 'park' AND outcome IN ('queued', 'scheduled')
      THEN greatest(job.attempt - 1, 0) ELSE job.attempt END,
    run_at = CASE WHEN outcome IN ('queued', 'scheduled')
      THEN (SELECT ${s}.now_ms()) + delay_ms ELSE job.run_at END,
    finished_at = CASE WHEN outcome NOT IN ('queued', 'scheduled')
      THEN (SELECT ${s}.now_ms()) END,
    result = judged.result,
    error_code = judged.error_code,
    error_message = judged.error_message,
    reason = judged.reason
  FROM judged WHERE job.id = judged.id
), ended AS (
  SELECT $1::text AS node_id, outcome AS state FROM judged
  WHERE outcome NOT IN ('queued', 'scheduled')
), past AS (
  SELECT id AS job_id, attempt, fence, started_at, (SELECT ${s}.now_ms()) AS ended_at,
    $1::text AS node_id, kind, error_code, error_message
  FROM judged WHERE outcome IN ('queued', 'scheduled')
), ends AS (
  SELECT task_id, result, error_code, error_message, CASE outcome
      WHEN 'done' THEN 'COMPLETED'
      WHEN 'cancelled' THEN 'CANCELLED'
      ELSE 'FAILED'
    END AS state
  FROM judged
  WHERE task_id IS NOT NULL AND (outcome IN ('done', 'failed', 'dead')
    OR outcome = 'cancelled' AND is_cancel_requested)
), ${tasked(s)}, ${remembered(s, '$3')}, ${tallied(s)}
SELECT given.n, CASE
    WHEN NOT coalesce(held.is_held OR held.is_repeat, false) THEN 'lost'
    WHEN judged.is_overtaken THEN 'overtaken'
    WHEN held.is_repeat AND held.state = 'skipped' AND given.kind <> 'skipped' THEN 'overtaken'
    ELSE 'settled'
  END AS verdict
FROM given LEFT JOIN held ON held.n = given.n
  LEFT JOIN judged ON judged.id = held.id AND held.is_held`

type GivenRow = ReturnType<typeof rowOf>

export function postgresSettle(database: Database, limits: StoreLimits) {
  const doneText = doneStatement(database.schema)
  const settleText = settleStatement(database.schema)

  /** Both statements answer a repeat as they answered the first time, so one may follow the other. */
  return async function settle(
    nodeId: string,
    settlements: readonly Settlement[],
  ): Promise<readonly SettleVerdict[]> {
    const rows = settlements
      .map(rowOf)
      .filter(({ id }) => isJobId(id))
      .sort(byId)
    if (rows.length === settlements.length && settlements.every(({ kind }) => kind === 'done')) {
      const lean = rows.map(({ id, fence, result }) => ({ id, fence, result }))
      const [done] = await database.query<{ count: number }>(doneText, [nodeId, jsonRows(lean)])
      if (done?.count === rows.length) return settlements.map(() => 'settled')
    }
    const verdicts = settlements.map((): SettleVerdict => 'lost')
    if (rows.length > 0)
      for (const { n, verdict } of await database.query<{ n: number; verdict: SettleVerdict }>(
        settleText,
        [nodeId, jsonRows(rows), limits.pastAttemptsMax],
      ))
        verdicts[n] = verdict
    return verdicts
  }
}

function rowOf(settlement: Settlement, n: number) {
  const { id, fence, kind } = settlement
  return {
    n,
    id,
    fence,
    kind,
    ...('result' in settlement && { result: settlement.result }),
    ...('delayMs' in settlement && { delay_ms: Math.ceil(settlement.delayMs) }),
    ...('reason' in settlement && { reason: settlement.reason }),
    ...('error' in settlement && {
      error_code: settlement.error.code,
      error_message: settlement.error.message,
    }),
  }
}

function byId(one: GivenRow, other: GivenRow): number {
  return one.id < other.id ? -1 : one.id > other.id ? 1 : one.n - other.n
}
