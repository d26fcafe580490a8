import type { Claim, ClaimedJob, ClaimRequest, PauseScope } from '../job-store.ts'
import { type Lane, readLane } from './lane.ts'
import { pausesStatement } from './pauses.ts'
import { nowMs, type StoreContext } from './store-context.ts'

const nothing: Claim = { jobs: [], next: null }

/**
 * An equal share of each lane that is open to this node, in the lane's order. What it costs depends
 * on the lanes looked at and the jobs taken, never on how many jobs wait. Nothing for a node whose
 * epoch is not the newest or whose lease is over.
 *
 * Read lane by lane, then written all at once: faster than statements that return what they write,
 * and in order. Nobody comes between, because both stand in one transaction.
 */
export function claimStatement(context: StoreContext): (request: ClaimRequest) => Claim {
  const { clock, limits } = context
  const holdsLease = leaseStatement(context)
  const pauses = pausesStatement(context.database)
  const lanesAfter = lanesStatement(context)
  const pick = pickStatement(context)
  const start = startStatement(context)

  return (request) => {
    const now = nowMs(clock)
    if (!holdsLease(request, now)) return nothing
    const lanes = lanesAfter(request.after ?? '', limits.lanesMax)
    const open = lanes.filter(openTo(request, pauses()))
    const { rows, cutAfter } = shares(open, request, pick)
    start(rows, request.nodeId, now)
    const isLast = lanes.length < limits.lanesMax
    return { jobs: rows.map(claimedJob), next: cutAfter ?? (isLast ? null : lanes.at(-1)!) }
  }
}

/**
 * `cutAfter` is the last lane served when the batch had no room for the others: they come first
 * next time, and none waits for two batches.
 */
function shares(
  lanes: readonly string[],
  request: ClaimRequest,
  pick: (lane: string, jobsMax: number) => readonly PickedRow[],
): { readonly rows: readonly PickedRow[]; readonly cutAfter: string | null } {
  const { jobsMax } = request
  const share = Math.ceil(jobsMax / lanes.length)
  const rows: PickedRow[] = []
  let served: string | null = null
  for (const lane of lanes) {
    const room = Math.min(share, jobsMax - rows.length)
    if (room <= 0) return { rows, cutAfter: served }
    for (const row of pick(lane, Math.min(room, laneJobsMax(lane, request)))) rows.push(row)
    served = lane
  }
  return { rows, cutAfter: null }
}

function laneJobsMax(name: string, { domainJobsMax, jobsMax }: ClaimRequest): number {
  const { isSuspect, domain } = readLane(name)
  if (isSuspect) return 1
  return domain === '' ? jobsMax : domainJobsMax
}

/** Of several lanes of suspects only the first one is open: one suspect at a time. */
function openTo(
  { types, refusedDomains, takesSuspect }: ClaimRequest,
  pauses: readonly PauseScope[],
): (name: string) => boolean {
  const isPaused = (lane: Lane) =>
    pauses.some((scope) => scope.kind === 'all' || scope.name === lane[scope.kind])
  const [known, refused] = [new Set(types), new Set(refusedDomains)]
  let mayBeSuspect = takesSuspect
  return (name) => {
    const lane = readLane(name)
    if (!known.has(lane.type) || refused.has(lane.domain) || isPaused(lane)) return false
    if (!lane.isSuspect) return true
    const isFirst = mayBeSuspect
    mayBeSuspect = false
    return isFirst
  }
}

function leaseStatement({
  database,
}: StoreContext): (request: ClaimRequest, now: number) => boolean {
  const select = database.prepare(
    'SELECT 1 FROM nodes WHERE id = ? AND epoch = ? AND lease_until > ?',
  )
  return ({ nodeId, epoch }, now) => select.get(nodeId, epoch, now) !== undefined
}

/** The names of the lanes in which jobs wait, one probe of the index each. */
function lanesStatement({
  database,
}: StoreContext): (after: string, lanesMax: number) => readonly string[] {
  const statement = database.prepare(`
    WITH RECURSIVE lanes (lane) AS (
      SELECT min(lane) FROM jobs WHERE state = 'queued' AND lane > ?1
      UNION ALL
      SELECT (SELECT min(lane) FROM jobs WHERE state = 'queued' AND lane > lanes.lane)
      FROM lanes WHERE lane IS NOT NULL LIMIT ?2
    )
    SELECT lane FROM lanes WHERE lane IS NOT NULL`)
  return (after, lanesMax) => statement.all(after, lanesMax).map(({ lane }) => String(lane))
}

/** The first of a lane, in its order. */
function pickStatement({
  database,
}: StoreContext): (lane: string, jobsMax: number) => readonly PickedRow[] {
  const pick = database.prepare(`
    SELECT seq, id, type, version, body, key, domain, priority, created_at, attempt, attempts_max,
      crashes, fence, since_fence, task_id, trace_id, span_id, task_id IS NOT NULL AND NOT EXISTS
        (SELECT 1 FROM tasks WHERE tasks.id = task_id AND tasks.state = 'QUEUED')
    FROM jobs WHERE state = 'queued' AND lane = ? ORDER BY priority, run_at, seq LIMIT ?`)
  pick.setReturnArrays(true)
  return (lane, jobsMax) => pick.all(lane, jobsMax) as unknown as readonly PickedRow[]
}

/** They are this node's from now on: one attempt and one fence more. */
function startStatement({
  database,
}: StoreContext): (rows: readonly PickedRow[], nodeId: string, now: number) => void {
  const start = database.prepare(`
    UPDATE jobs SET state = 'running', attempt = attempt + 1, fence = fence + 1, node_id = ?,
      started_at = ?, reason = NULL
    WHERE seq IN (SELECT value FROM json_each(?))`)
  return (rows, nodeId, now) => {
    if (rows.length > 0) start.run(nodeId, now, JSON.stringify(rows.map(([seq]) => seq)))
  }
}

type PickedRow = readonly [
  seq: number,
  id: string,
  type: string,
  version: string,
  body: string,
  key: string | null,
  domain: string,
  priority: number,
  createdAt: number,
  attempt: number,
  attemptsMax: number,
  crashes: number,
  fence: number,
  sinceFence: number,
  taskId: string | null,
  traceId: string | null,
  spanId: string | null,
  isObsolete: 0 | 1,
]

// Rows come as arrays because this is the busiest way through the store.
function claimedJob(row: PickedRow): ClaimedJob {
  return {
    id: row[1],
    type: row[2],
    version: row[3],
    body: row[4],
    key: row[5],
    domain: row[6],
    priority: row[7],
    createdAt: row[8],
    attempt: row[9] + 1,
    attemptsMax: row[10],
    crashes: row[11],
    fence: row[12] + 1,
    sinceFence: row[13],
    taskId: row[14],
    traceId: row[15],
    spanId: row[16],
    isObsolete: row[17] === 1,
  }
}
