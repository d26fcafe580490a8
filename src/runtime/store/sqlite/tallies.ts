/** How many jobs have ended, and how: added up as they end, because nobody counts millions of rows. */
import type { DatabaseSync } from 'node:sqlite'
import { type FinalState, finalStates } from '../job-store.ts'

/** One row for each state that occurs, however many jobs there are. '' ended without a node. */
export function tallyStatement(
  database: DatabaseSync,
): (nodeId: string, ended: readonly FinalState[]) => void {
  const add = database.prepare(`
    INSERT INTO tallies (node_id, state, count) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET count = count + excluded.count`)
  return (nodeId, ended) => {
    for (const state of finalStates) {
      const count = ended.reduce((sum, one) => (one === state ? sum + 1 : sum), 0)
      if (count > 0) add.run(nodeId, state, count)
    }
  }
}

export function endedStatement(database: DatabaseSync): () => Record<FinalState, number> {
  const sums = database.prepare('SELECT state, sum(count) AS count FROM tallies GROUP BY state')
  return () => {
    const counts = { done: 0, skipped: 0, failed: 0, dead: 0, cancelled: 0 }
    return Object.assign(
      counts,
      Object.fromEntries(sums.all().map(({ state, count }) => [state, count])),
    )
  }
}
