import type { Recovery, StoreLimits } from '../job-store.ts'
import { remembered, tallied, tasked } from './bookkeeping.ts'
import type { Statements } from './database.ts'

/**
 * Takes running jobs back from nodes that stopped without an answer, and decides about each: called
 * off, dead (crashed too often, or no attempt left), or queued again, alone among its kind from
 * `suspectCrashes` on. Its fence stays unsettled: what the old holder still sends is lost.
 *
 * Parameters: nodes, jobsMax or null, past attempts kept, crashesMax, suspectCrashes.
 */
const takeBackStatement = (s: string) => `
WITH held AS MATERIALIZED (
  SELECT id, attempt, attempts_max, crashes + 1 AS crashes, fence, started_at, node_id, task_id,
    is_cancel_requested
  FROM ${s}.jobs WHERE state = 'running' AND node_id = ANY ($1)
  ORDER BY id LIMIT $2
  FOR UPDATE
), waiting AS MATERIALIZED (
  SELECT id FROM ${s}.tasks WHERE state = 'QUEUED' AND id IN (SELECT task_id FROM held)
  ORDER BY id FOR UPDATE
), judged AS MATERIALIZED (
  SELECT held.*, waiting.id AS waiting_id, CASE
      WHEN is_cancel_requested THEN 'cancelled'
      WHEN crashes >= $4 OR attempt >= attempts_max THEN 'dead'
      ELSE 'queued'
    END AS outcome,
    CASE WHEN is_cancel_requested THEN NULL
      WHEN crashes >= $4 THEN 'job.poison'
      WHEN attempt >= attempts_max THEN 'attempts.exhausted'
    END AS error_code,
    CASE WHEN is_cancel_requested THEN NULL
      WHEN crashes >= $4 THEN format('Its node stopped %s times while running it. Find out what it does to the process, then replay it.', crashes)
      WHEN attempt >= attempts_max THEN format('Its node stopped during the last of %s attempts. Replay it to give it new ones.', attempts_max)
    END AS error_message
  FROM held LEFT JOIN waiting ON waiting.id = held.task_id
), written AS (
  UPDATE ${s}.jobs AS job
  SET state = outcome, crashes = judged.crashes, error_code = judged.error_code,
    error_message = judged.error_message,
    finished_at = CASE WHEN outcome <> 'queued' THEN (SELECT ${s}.now_ms()) END,
    lane = CASE WHEN outcome = 'queued' AND judged.crashes >= $5 THEN '!' ELSE '' END
      || type || ' ' || domain
  FROM judged WHERE job.id = judged.id
), ended AS (
  SELECT node_id, outcome AS state FROM judged WHERE outcome <> 'queued'
), past AS (
  SELECT id AS job_id, attempt, fence, started_at, (SELECT ${s}.now_ms()) AS ended_at, node_id,
    'crash' AS kind, NULL AS error_code, NULL AS error_message
  FROM judged
), ends AS (
  SELECT waiting_id AS task_id, NULL AS result, error_code, error_message,
    CASE outcome WHEN 'dead' THEN 'FAILED' ELSE 'CANCELLED' END AS state
  FROM judged WHERE waiting_id IS NOT NULL AND outcome <> 'queued'
), ${tasked(s)}, ${remembered(s, '$3')}, ${tallied(s)}
SELECT id, outcome FROM judged ORDER BY id`

export async function takeBack(
  statements: Statements,
  schema: string,
  limits: StoreLimits,
  nodeIds: readonly string[],
  jobsMax: number | null,
): Promise<Recovery> {
  const rows = await statements.query<{ id: string; outcome: string }>(takeBackStatement(schema), [
    nodeIds,
    jobsMax,
    limits.pastAttemptsMax,
    limits.crashesMax,
    limits.suspectCrashes,
  ])
  const count = (outcome: string) => rows.filter((row) => row.outcome === outcome).length
  return {
    requeued: count('queued'),
    dead: rows.flatMap(({ id, outcome }) => (outcome === 'dead' ? id : [])),
    cancelled: count('cancelled'),
  }
}
