import type { Upkeep } from '../job-store.ts'
import type { Database } from './database.ts'

export function postgresTurns(database: Database): Pick<Upkeep, 'takeTurn'> {
  const s = database.schema

  return {
    /** Of any number who ask at once, one gets it; who has it may prolong it. */
    async takeTurn(duty, nodeId, holdMs) {
      const taken = await database.query(
        `INSERT INTO ${s}.turns (duty, node_id, until)
         VALUES ($1, $2, (SELECT ${s}.now_ms()) + $3::bigint)
         ON CONFLICT (duty) DO UPDATE SET node_id = excluded.node_id, until = excluded.until
           WHERE turns.until <= (SELECT ${s}.now_ms()) OR turns.node_id = excluded.node_id
         RETURNING duty`,
        [duty, nodeId, Math.ceil(holdMs)],
      )
      return taken.length > 0
    },
  }
}
