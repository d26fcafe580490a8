import { afterMs, nowMs, type StoreContext } from './store-context.ts'

/** Whoever holds the turn may prolong it; another gets it when it is over. */
export function takeTurnStatement({
  database,
  clock,
}: StoreContext): (duty: string, nodeId: string, holdMs: number) => boolean {
  const take = database.prepare(`
    INSERT INTO turns (duty, node_id, until) VALUES (?1, ?2, ?3)
    ON CONFLICT (duty) DO UPDATE SET node_id = excluded.node_id, until = excluded.until
    WHERE until <= ?4 OR node_id = excluded.node_id`)
  return (duty, nodeId, holdMs) =>
    take.run(duty, nodeId, afterMs(clock, holdMs), nowMs(clock)).changes === 1
}
