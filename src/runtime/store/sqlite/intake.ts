import type { NewJob, Receipt } from '../job-store.ts'
import { laneName } from './lane.ts'
import { nowMs, type StoreContext } from './store-context.ts'

/**
 * A job whose key is there already adds nothing, and is answered with the id of the first; so is
 * one that was added before, when only the answer had got lost. Row by row: a statement that is
 * prepared once takes them as fast as any list of values would, and says of each what became of it.
 */
export function addStatement({
  database,
  clock,
}: StoreContext): (jobs: readonly NewJob[]) => readonly Receipt[] {
  const insert = database.prepare(`
    INSERT INTO jobs (id, state, lane, priority, run_at, attempts_max, created_at, type, version,
      domain, key, task_id, trace_id, span_id, body)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO NOTHING`)
  const byKey = database.prepare('SELECT id FROM jobs WHERE key = ?')
  return (jobs) => {
    const now = nowMs(clock)
    return jobs.map((job): Receipt => {
      const { id, type, domain, key } = job
      const runAt = job.runAt === null ? now : Math.ceil(job.runAt)
      const { changes } = insert.run(
        id,
        runAt > now ? 'scheduled' : 'queued',
        laneName({ type, domain, isSuspect: false }),
        job.priority,
        runAt,
        job.attemptsMax,
        now,
        type,
        job.version,
        domain,
        key,
        job.taskId,
        job.traceId,
        job.spanId,
        job.body,
      )
      if (changes === 1) return { id, isNew: true }
      const first = key === null ? id : String(byKey.get(key)?.id ?? id)
      return { id: first, isNew: first === id }
    })
  }
}
