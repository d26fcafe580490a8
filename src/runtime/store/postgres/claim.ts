import type { Claim, ClaimedJob, ClaimRequest, StoreLimits } from '../job-store.ts'
import type { Database } from './database.ts'
import { domainOfLane, isSuspectLane, typeOfLane } from './lane.ts'

/**
 * Takes jobs for a node. No job is given to two nodes, and no claim waits for another: what somebody
 * else is about to take is passed over.
 *
 * Lanes are found by one probe of the ready index each, never by reading their jobs. The scan ends
 * after `lanesMax` lanes, or when as many open ones are found as jobs are wanted: then each gets a
 * share, and nobody is passed by. The shares add up to the jobs wanted, so that no row is locked
 * without need.
 *
 * The node's row is held against `enlist` and `rescue` (not against `beat`) until the claim is
 * committed: they see all the node has taken, or it takes nothing.
 *
 * Parameters: node, epoch, jobsMax, types, refused domains, takes a suspect, after, lanesMax,
 * domainJobsMax.
 */
const claimStatement = (s: string) => `
WITH RECURSIVE node AS MATERIALIZED (
  SELECT id FROM ${s}.nodes
  WHERE id = $1 AND epoch = $2 AND NOT is_gone AND lease_until > (SELECT ${s}.now_ms())
  FOR KEY SHARE
), paused AS MATERIALIZED (
  SELECT coalesce(array_agg(scope), '{}') AS scopes FROM ${s}.pauses
), lanes (lane, looked, found, is_open, has_suspect) AS (
  SELECT $7::text COLLATE "C", 0, 0, false, false FROM node, paused WHERE '*' <> ALL (scopes)
  UNION ALL
  SELECT next.lane, looked + 1, found + judged.is_open::integer, judged.is_open,
    has_suspect OR judged.is_open AND next.is_suspect
  FROM lanes
  CROSS JOIN LATERAL (
    SELECT lane, ${isSuspectLane} AS is_suspect, ${typeOfLane} AS type, ${domainOfLane} AS domain
    FROM (
      SELECT lane FROM ${s}.jobs WHERE state = 'queued' AND jobs.lane > lanes.lane
      ORDER BY lane LIMIT 1
    ) AS probe
  ) AS next
  CROSS JOIN LATERAL (
    SELECT next.type = ANY ($4::text[]) AND next.domain <> ALL ($5::text[])
      AND 'type:' || next.type <> ALL ((SELECT scopes FROM paused)::text[])
      AND 'domain:' || next.domain <> ALL ((SELECT scopes FROM paused)::text[])
      AND (NOT next.is_suspect OR $6 AND NOT has_suspect) AS is_open
    OFFSET 0
  ) AS judged
  WHERE looked < $8 AND found < $3
), shares AS MATERIALIZED (
  SELECT lane, least(
      CASE WHEN ${isSuspectLane} THEN 1 WHEN ${domainOfLane} = '' THEN $3 ELSE $9 END,
      $3 / max(found) OVER () + (found <= $3 % max(found) OVER ())::integer
    ) AS share
  FROM lanes WHERE is_open ORDER BY found
), picked AS MATERIALIZED (
  SELECT one.place, row_number() OVER () AS turn
  FROM shares CROSS JOIN LATERAL (
    SELECT ctid AS place FROM ${s}.jobs WHERE state = 'queued' AND jobs.lane = shares.lane
    ORDER BY lane, priority, run_at, id LIMIT share
    FOR UPDATE SKIP LOCKED
  ) AS one
), claimed AS (
  UPDATE ${s}.jobs AS job
  SET state = 'running', attempt = attempt + 1, fence = fence + 1, node_id = $1,
    started_at = (SELECT ${s}.now_ms()), reason = NULL
  FROM picked WHERE job.ctid = picked.place
  RETURNING turn, id, type, version, body, key, domain, priority, created_at, attempt,
    attempts_max, crashes, fence, since_fence, task_id, trace_id, span_id,
    CASE WHEN task_id IS NULL THEN false ELSE NOT EXISTS (
      SELECT FROM ${s}.tasks WHERE tasks.id = job.task_id AND tasks.state = 'QUEUED'
    ) END AS is_obsolete
), ending AS (
  SELECT lane FROM (SELECT * FROM lanes ORDER BY looked DESC LIMIT 1) AS last
  WHERE (looked = $8 OR found = $3)
    AND EXISTS (SELECT FROM ${s}.jobs WHERE state = 'queued' AND jobs.lane > last.lane)
)
SELECT claimed.*, (SELECT lane FROM ending) AS next
FROM (SELECT) AS always LEFT JOIN claimed ON true
ORDER BY turn`

interface ClaimedRow {
  id: string | null
  type: string
  version: string
  body: string
  key: string | null
  domain: string
  priority: number
  created_at: number
  attempt: number
  attempts_max: number
  crashes: number
  fence: number
  since_fence: number
  task_id: string | null
  is_obsolete: boolean
  trace_id: string | null
  span_id: string | null
  next: string | null
}

// Lanes of suspects begin with '!', and all others behind it: who takes none begins there.
const BEFORE_ALL = ''
const BEHIND_SUSPECTS = '"'

export function postgresClaim(database: Database, limits: StoreLimits) {
  const statement = claimStatement(database.schema)

  return async function claim(request: ClaimRequest): Promise<Claim> {
    if (request.jobsMax < 1) return { jobs: [], next: request.after }
    const rows = await database.query<ClaimedRow>(statement, [
      request.nodeId,
      request.epoch,
      request.jobsMax,
      request.types,
      request.refusedDomains,
      request.takesSuspect,
      request.after ?? (request.takesSuspect ? BEFORE_ALL : BEHIND_SUSPECTS),
      limits.lanesMax,
      request.domainJobsMax,
    ])
    const next = rows[0]?.next ?? null
    return { jobs: rows.flatMap((row) => (row.id === null ? [] : claimedJob(row, row.id))), next }
  }
}

function claimedJob(row: ClaimedRow, id: string): ClaimedJob {
  return {
    id,
    type: row.type,
    version: row.version,
    body: row.body,
    key: row.key,
    domain: row.domain,
    priority: row.priority,
    createdAt: row.created_at,
    attempt: row.attempt,
    attemptsMax: row.attempts_max,
    crashes: row.crashes,
    fence: row.fence,
    sinceFence: row.since_fence,
    taskId: row.task_id,
    isObsolete: row.is_obsolete,
    traceId: row.trace_id,
    spanId: row.span_id,
  }
}
