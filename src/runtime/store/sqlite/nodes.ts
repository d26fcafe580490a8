/** Nodes and their leases. One row renewed is the lease of every job the node runs. */
import type { Enlistment, NodeCard, NodeRecord, Recovery } from '../job-store.ts'
import { afterMs, nowMs, type StoreContext } from './store-context.ts'
import { takeBackStatement } from './take-back.ts'

/** A new epoch and a new lease; whatever an earlier life of this node ran is taken back, all of it. */
export function enlistStatement(context: StoreContext): (node: NodeCard) => Enlistment {
  const { database, clock, limits } = context
  const enlist = database.prepare(`
    INSERT INTO nodes (id, role, address, version, epoch, lease_until, started_at, beat_at)
    VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6, ?6)
    ON CONFLICT (id) DO UPDATE SET role = excluded.role, address = excluded.address,
      version = excluded.version, epoch = epoch + 1, lease_until = excluded.lease_until,
      started_at = excluded.started_at, beat_at = excluded.beat_at
    RETURNING epoch`)
  const takeBack = takeBackStatement(context)
  return ({ id, role, address, version }) => {
    const leaseUntil = afterMs(clock, limits.leaseMs)
    const row = enlist.get(id, role, address, version, leaseUntil, nowMs(clock))
    // -1 is no limit to SQLite.
    return { epoch: Number(row?.epoch), recovered: takeBack(id, -1) }
  }
}

/** A beat that comes late renews all the same, as long as nobody has taken anything. */
export function beatStatement({
  database,
  clock,
  limits,
}: StoreContext): (nodeId: string, epoch: number) => 'renewed' | 'lost' {
  const beat = database.prepare(`
    UPDATE nodes SET lease_until = ?, beat_at = ? WHERE id = ? AND epoch = ? AND lease_until > 0`)
  return (nodeId, epoch) =>
    beat.run(afterMs(clock, limits.leaseMs), nowMs(clock), nodeId, epoch).changes === 1
      ? 'renewed'
      : 'lost'
}

/** A node that is given up gets a new epoch: it can no longer beat or claim. */
export function rescueStatement(context: StoreContext): (jobsMax: number) => Recovery {
  const { database, clock } = context
  const overdue = database.prepare(`
    SELECT id FROM nodes WHERE lease_until <= ? AND (lease_until > 0 OR EXISTS
      (SELECT 1 FROM jobs WHERE state = 'running' AND node_id = nodes.id))`)
  const giveUp = database.prepare(
    'UPDATE nodes SET epoch = epoch + 1, lease_until = 0 WHERE id = ? AND lease_until > 0',
  )
  const takeBack = takeBackStatement(context)
  return (jobsMax) => {
    let recovery: Recovery = { requeued: 0, dead: [], cancelled: 0 }
    for (const { id } of overdue.all(nowMs(clock))) {
      const room = jobsMax - recovery.requeued - recovery.dead.length - recovery.cancelled
      if (room <= 0) break
      giveUp.run(String(id))
      const { requeued, dead, cancelled } = takeBack(String(id), room)
      recovery = {
        requeued: recovery.requeued + requeued,
        dead: [...recovery.dead, ...dead],
        cancelled: recovery.cancelled + cancelled,
      }
    }
    return recovery
  }
}

/** Nothing more will come from it. What it still ran is taken back by the next rescue. */
export function leaveStatement({
  database,
}: StoreContext): (nodeId: string, epoch: number) => void {
  const leave = database.prepare('UPDATE nodes SET lease_until = 0 WHERE id = ? AND epoch = ?')
  return (nodeId, epoch) => void leave.run(nodeId, epoch)
}

export function nodesStatement({ database, clock }: StoreContext): () => readonly NodeRecord[] {
  const select = database.prepare(`
    SELECT id, role, address, version, started_at AS startedAt, beat_at AS beatAt,
      lease_until > ? AS isAlive,
      (SELECT count(*) FROM jobs WHERE state = 'running' AND node_id = nodes.id) AS running
    FROM nodes ORDER BY id`)
  return () =>
    (select.all(nowMs(clock)) as unknown as NodeRecord[]).map((node) => ({
      ...node,
      isAlive: Boolean(node.isAlive),
    }))
}

export function runningOnStatement({
  database,
}: StoreContext): (nodeId: string, jobsMax: number) => readonly { id: string; fence: number }[] {
  const select = database.prepare(
    `SELECT id, fence FROM jobs WHERE state = 'running' AND node_id = ? LIMIT ?`,
  )
  return (nodeId, jobsMax) =>
    select.all(nodeId, jobsMax).map(({ id, fence }) => ({ id: String(id), fence: Number(fence) }))
}
