import type { Upkeep } from '../job-store.ts'
import type { Database } from './database.ts'

/**
 * Ended jobs that are past their time, the oldest first. Parameters: endedMs, failedMs, jobsMax.
 */
const overStatement = (s: string) => `
SELECT id FROM ${s}.jobs
WHERE state IN ('done', 'skipped', 'cancelled') AND finished_at <= (SELECT ${s}.now_ms()) - $1
  OR state IN ('failed', 'dead') AND finished_at <= (SELECT ${s}.now_ms()) - $2
ORDER BY id LIMIT $3`

/**
 * The oldest ended jobs, as many as have to go until the rest fits. Sizes of rows are added up,
 * because files do not become smaller when rows are deleted. Parameters: bytesMax, jobsMax.
 */
const surplusStatement = (s: string) => `
WITH sized AS (
  SELECT id, state, ${['job', 'body', 'result', 'progress', 'error_message']
    .map((what) => `coalesce(pg_column_size(${what}), 0)`)
    .join(' + ')} AS bytes
  FROM ${s}.jobs AS job
), surplus AS (
  SELECT id, sum(bytes) OVER (ORDER BY id) - bytes AS gone FROM sized
  WHERE state IN ('done', 'skipped', 'failed', 'dead', 'cancelled')
)
SELECT id FROM surplus WHERE gone < (SELECT sum(bytes) FROM sized) - $1 ORDER BY id LIMIT $2`

const removeStatement = (s: string, chosen: string) => `
WITH chosen AS (${chosen}), held AS MATERIALIZED (
  SELECT id FROM ${s}.jobs
  WHERE id IN (SELECT id FROM chosen)
    AND state IN ('done', 'skipped', 'failed', 'dead', 'cancelled')
  ORDER BY id FOR UPDATE SKIP LOCKED
), removed AS (
  DELETE FROM ${s}.jobs USING held WHERE jobs.id = held.id RETURNING jobs.id
), forgotten AS (
  DELETE FROM ${s}.attempts USING held WHERE attempts.job_id = held.id
)
SELECT count(*) AS pruned FROM removed`

export function postgresPrune(database: Database): Pick<Upkeep, 'prune'> {
  const s = database.schema

  async function remove(chosen: string, values: readonly number[]): Promise<number> {
    const [row] = await database.query<{ pruned: number }>(removeStatement(s, chosen), values)
    return row?.pruned ?? 0
  }

  return {
    async prune({ endedMs, failedMs, bytesMax }, jobsMax) {
      const over = await remove(overStatement(s), [endedMs, failedMs, jobsMax])
      // The files are never smaller than what is in them: mostly there is nothing to add up.
      const [size] = await database.query<{ bytes: number }>(
        'SELECT pg_total_relation_size($1) AS bytes',
        [`${s}.jobs`],
      )
      if (over >= jobsMax || !size || size.bytes <= bytesMax) return { pruned: over }
      return { pruned: over + (await remove(surplusStatement(s), [bytesMax, jobsMax - over])) }
    },
  }
}
