import type { JobIntake, NewJob, Receipt } from '../job-store.ts'
import type { Database, Statements } from './database.ts'
import type { Announcer } from './hints.ts'
import { jsonRows } from './json-rows.ts'

/**
 * Inserts what is not there yet, all or nothing, and answers the ids that are new. A job whose key
 * or id exists is left out. Rows with keys go in the order of their keys, so that two batches with
 * the same keys wait for each other in one direction only.
 */
const insertStatement = (schema: string) => `
INSERT INTO ${schema}.jobs (id, type, version, body, key, domain, lane, priority, state, run_at,
  attempts_max, task_id, trace_id, span_id, created_at)
SELECT given.id, given.type, given.version, given.body, given.key, given.domain,
  given.type || ' ' || given.domain, given.priority,
  CASE WHEN given.run_at > clock.now THEN 'scheduled' ELSE 'queued' END,
  coalesce(given.run_at, clock.now), given.attempts_max, given.task_id, given.trace_id,
  given.span_id, clock.now
FROM json_to_recordset($1) AS given (id uuid, type text, version text, body text, key text,
    domain text, priority integer, run_at bigint, attempts_max integer, task_id text,
    trace_id text, span_id text),
  (SELECT ${schema}.now_ms() AS now OFFSET 0) AS clock
ON CONFLICT DO NOTHING
RETURNING id`

/**
 * The same for jobs that differ in nothing but their bodies, as most of a large batch do: what they
 * share is sent and read once. Without keys none can be there already, but for a repeated call.
 *
 * Parameters: jobs, type, version, domain, priority, attemptsMax.
 */
const insertAlikeStatement = (schema: string) => `
INSERT INTO ${schema}.jobs (id, body, type, version, domain, lane, priority, attempts_max, state,
  run_at, created_at)
SELECT given.id, given.body, $2, $3, $4, $2 || ' ' || $4, $5, $6, 'queued', clock.now, clock.now
FROM json_to_recordset($1) AS given (id uuid, body text),
  (SELECT ${schema}.now_ms() AS now OFFSET 0) AS clock
ON CONFLICT DO NOTHING`

export async function insertJobs(
  statements: Statements,
  schema: string,
  jobs: readonly NewJob[],
): Promise<Set<string>> {
  const [first] = jobs
  if (!first) return new Set()
  if (jobs.every((job) => isPlain(job) && isAlike(job, first))) {
    const { type, version, domain, priority, attemptsMax } = first
    const rows = jobs.map(({ id, body }) => ({ id, body }))
    await statements.query(insertAlikeStatement(schema), [
      jsonRows(rows),
      ...[type, version, domain, priority, attemptsMax],
    ])
    return new Set(jobs.map(({ id }) => lower(id)))
  }
  const rows = inKeyOrder(jobs).map(rowOf)
  const added = await statements.query<{ id: string }>(insertStatement(schema), [jsonRows(rows)])
  return new Set(added.map(({ id }) => id))
}

export function postgresIntake(database: Database, hints: Announcer): JobIntake {
  const { schema } = database

  async function add(jobs: readonly NewJob[]): Promise<readonly Receipt[]> {
    const added = await insertJobs(database, schema, jobs)
    if (added.size > 0) hints.announce('jobs')
    if (added.size === jobs.length) return jobs.map(({ id }) => ({ id, isNew: true }))

    const holders = await holdersOf(
      jobs.flatMap(({ id, key }) => (added.has(lower(id)) ? [] : (key ?? []))),
    )
    // The holder of a key can be pruned between the two statements; then the key is free again.
    const isFree = ({ id, key }: NewJob) =>
      key !== null && !added.has(lower(id)) && !holders.has(key)
    const again = jobs.some(isFree) ? await add(jobs.filter(isFree)) : []
    const late = again.values()
    return jobs.map((job) => {
      if (isFree(job)) return late.next().value!
      if (added.delete(lower(job.id))) return { id: job.id, isNew: true }
      return { id: (job.key !== null && holders.get(job.key)) || job.id, isNew: false }
    })
  }

  async function holdersOf(keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (keys.length === 0) return new Map()
    const rows = await database.query<{ key: string; id: string }>(
      `SELECT key, id FROM ${schema}.jobs WHERE key = ANY ($1)`,
      [keys],
    )
    return new Map(rows.map(({ key, id }) => [key, id]))
  }

  return { add }
}

function isPlain({ key, runAt, taskId, traceId, spanId }: NewJob): boolean {
  return key === null && runAt === null && taskId === null && traceId === null && spanId === null
}

function isAlike(one: NewJob, other: NewJob): boolean {
  return (
    one.type === other.type &&
    one.version === other.version &&
    one.domain === other.domain &&
    one.priority === other.priority &&
    one.attemptsMax === other.attemptsMax
  )
}

function inKeyOrder(jobs: readonly NewJob[]): readonly NewJob[] {
  if (jobs.every(({ key }) => key === null)) return jobs
  // Those without a key wait for nobody; the sort is stable, so the first of a key stays the first.
  return jobs.toSorted(({ key: one }, { key: other }) => {
    if (one === other) return 0
    return one === null || (other !== null && one < other) ? -1 : 1
  })
}

function rowOf(job: NewJob) {
  return {
    id: job.id,
    type: job.type,
    version: job.version,
    body: job.body,
    key: job.key,
    domain: job.domain,
    priority: job.priority,
    run_at: job.runAt === null ? null : Math.ceil(job.runAt),
    attempts_max: job.attemptsMax,
    task_id: job.taskId,
    trace_id: job.traceId,
    span_id: job.spanId,
  }
}

/** PostgreSQL writes UUIDs in lower case, whatever was given. */
function lower(id: string): string {
  return id.toLowerCase()
}
