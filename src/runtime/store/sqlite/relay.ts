import type { NewJob, OutboxRow, ReadOutboxRow, Receipt, Relayed } from '../job-store.ts'
import type { StoreContext } from './store-context.ts'

/**
 * Rows leave the outbox in the transaction that adds their jobs: each exactly once, and one that was
 * committed late is still there to be taken. A row whose key is taken already goes as well: the
 * first job stands. A refused row stays with the reason.
 */
export function relayStatement(
  { database }: StoreContext,
  add: (jobs: readonly NewJob[]) => readonly Receipt[],
): (rowsMax: number, read: ReadOutboxRow) => Relayed {
  const waiting = database.prepare(`
    SELECT id, type, body, key, domain, priority, run_at AS runAt, attempts_max AS attemptsMax,
      task_id AS taskId
    FROM outbox WHERE refusal IS NULL ORDER BY id LIMIT ?`)
  const remove = database.prepare('DELETE FROM outbox WHERE id = ?')
  const refuse = database.prepare('UPDATE outbox SET refusal = ? WHERE id = ?')
  return (rowsMax, read) => {
    const jobs: NewJob[] = []
    const rows = waiting.all(rowsMax) as unknown as OutboxRow[]
    for (const row of rows) {
      const job = read({ ...row })
      if ('refusal' in job) {
        refuse.run(job.refusal, row.id)
      } else {
        jobs.push(job)
        remove.run(row.id)
      }
    }
    add(jobs)
    return { moved: jobs.length, refused: rows.length - jobs.length }
  }
}
