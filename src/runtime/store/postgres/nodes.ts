import type { NodeRecord, NodeRegistry, StoreLimits } from '../job-store.ts'
import type { Database } from './database.ts'
import type { Announcer } from './hints.ts'
import { takeBack } from './take-back.ts'

/**
 * The lease belongs to the node: one row renewed renews every job it runs. `enlist` and `rescue` lock
 * that row against claims under way before they look for jobs, so nothing is taken behind their back.
 */
export function postgresNodes(
  database: Database,
  limits: StoreLimits,
  hints: Announcer,
): NodeRegistry {
  const s = database.schema

  return {
    async enlist(node) {
      const answer = await database.transaction(async (statements) => {
        await statements.query(
          `INSERT INTO ${s}.nodes (id, role, address, version, epoch, is_gone, lease_until,
             started_at, beat_at)
           VALUES ($1, $2, $3, $4, 0, true, 0, 0, 0) ON CONFLICT (id) DO NOTHING`,
          [node.id, node.role, node.address, node.version],
        )
        await statements.query(`SELECT FROM ${s}.nodes WHERE id = $1 FOR UPDATE`, [node.id])
        const [enlisted] = await statements.query<{ epoch: number }>(
          `UPDATE ${s}.nodes SET role = $2, address = $3, version = $4, epoch = epoch + 1,
             is_gone = false, lease_until = clock.now + $5, started_at = clock.now,
             beat_at = clock.now
           FROM (SELECT ${s}.now_ms() AS now OFFSET 0) AS clock
           WHERE id = $1 RETURNING epoch`,
          [node.id, node.role, node.address, node.version, limits.leaseMs],
        )
        const recovered = await takeBack(statements, s, limits, [node.id], null)
        return { epoch: enlisted?.epoch ?? 0, recovered }
      })
      if (answer.recovered.requeued > 0) hints.announce('jobs')
      return answer
    },

    /** Also late, as long as nobody has taken the node's jobs: the epoch tells. */
    async beat(nodeId, epoch) {
      const renewed = await database.query(
        `UPDATE ${s}.nodes SET lease_until = clock.now + $3, beat_at = clock.now
         FROM (SELECT ${s}.now_ms() AS now OFFSET 0) AS clock
         WHERE id = $1 AND epoch = $2 AND NOT is_gone RETURNING id`,
        [nodeId, epoch, limits.leaseMs],
      )
      return renewed.length > 0 ? 'renewed' : 'lost'
    },

    /** Two at once share the nodes between them. */
    async rescue(jobsMax) {
      const recovered = await database.transaction(async (statements) => {
        const over = await statements.query<{ id: string }>(
          `SELECT id FROM ${s}.nodes
           WHERE lease_until <= (SELECT ${s}.now_ms()) AND (NOT is_gone OR EXISTS (
             SELECT FROM ${s}.jobs WHERE state = 'running' AND node_id = nodes.id))
           ORDER BY id FOR UPDATE SKIP LOCKED`,
        )
        if (over.length === 0) return { requeued: 0, dead: [], cancelled: 0 }
        const ids = over.map(({ id }) => id)
        await statements.query(
          `UPDATE ${s}.nodes SET epoch = epoch + 1, is_gone = true WHERE id = ANY ($1)`,
          [ids],
        )
        return takeBack(statements, s, limits, ids, jobsMax)
      })
      if (recovered.requeued > 0) hints.announce('jobs')
      return recovered
    },

    async leave(nodeId, epoch) {
      await database.query(
        `UPDATE ${s}.nodes SET is_gone = true, lease_until = (SELECT ${s}.now_ms())
         WHERE id = $1 AND epoch = $2`,
        [nodeId, epoch],
      )
    },

    async nodes() {
      return database.query<NodeRecord>(
        `SELECT id, role, address, version, started_at AS "startedAt", beat_at AS "beatAt",
           NOT is_gone AND lease_until > (SELECT ${s}.now_ms()) AS "isAlive",
           (SELECT count(*) FROM ${s}.jobs WHERE state = 'running' AND node_id = nodes.id) AS running
         FROM ${s}.nodes ORDER BY id`,
      )
    },

    async runningOn(nodeId, jobsMax) {
      return database.query<{ id: string; fence: number }>(
        `SELECT id, fence FROM ${s}.jobs WHERE state = 'running' AND node_id = $1
         ORDER BY id LIMIT $2`,
        [nodeId, jobsMax],
      )
    },
  }
}
