/** What happens to jobs between their beginnings and ends. */
import type { JobNote } from '../job-store.ts'
import { nowMs, type StoreContext } from './store-context.ts'

/** Written under the fence, and only while the job runs. Repeating a note changes nothing. */
export function noteStatement({
  database,
}: StoreContext): (notes: readonly JobNote[]) => readonly ('noted' | 'lost')[] {
  const note = database.prepare(`
    UPDATE jobs SET attempt = coalesce(?, attempt), progress = coalesce(?, progress)
    WHERE id = ? AND fence = ? AND state = 'running'`)
  return (notes) =>
    notes.map(({ id, fence, attempt = null, progress = null }) =>
      note.run(attempt, progress, id, fence).changes === 1 ? 'noted' : 'lost',
    )
}

/** The longest due first; the next is due in 0 ms when more are due than it may move. */
export function promoteStatement({ database, clock }: StoreContext): (jobsMax: number) => {
  promoted: number
  nextDueInMs: number | null
} {
  const promote = database.prepare(`
    UPDATE jobs SET state = 'queued' WHERE seq IN
      (SELECT seq FROM jobs WHERE state = 'scheduled' AND run_at <= ? ORDER BY run_at LIMIT ?)`)
  const next = database.prepare("SELECT min(run_at) AS at FROM jobs WHERE state = 'scheduled'")
  return (jobsMax) => {
    const now = nowMs(clock)
    const promoted = Number(promote.run(now, jobsMax).changes)
    return { promoted, nextDueInMs: dueInMs(next.get()?.at as number | null, now) }
  }
}

export function dueInMs(at: number | null, now: number): number | null {
  return at === null ? null : Math.max(0, at - now)
}

export function cancellationsStatement({
  database,
}: StoreContext): (nodeId: string) => readonly string[] {
  const select = database.prepare(`
    SELECT id FROM jobs WHERE state = 'running' AND is_cancel_requested = 1 AND node_id = ?`)
  return (nodeId) => select.all(nodeId).map(({ id }) => String(id))
}
