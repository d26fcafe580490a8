import type { JobState, Retention } from '../job-store.ts'
import { nowMs, type StoreContext } from './store-context.ts'

/** So that one call never holds up the process, however many jobs are to be kept. */
const rowsSeenMax = 50_000
/** Between two looks at the size. */
const sizeStep = 100

interface Row {
  readonly seq: number
  readonly state: JobState
  readonly createdAt: number
  readonly finishedAt: number | null
}

/**
 * Removes ended jobs and their past attempts: first those that are too old, then, as long as the
 * store is too large, the oldest. Live jobs are never touched. Jobs lie in the order of submission,
 * so a walk from the oldest finds them without an index, and stops where all are too young; what it
 * had to leave standing is not looked at again before the walk begins anew.
 */
export function pruneStatement({
  database,
  clock,
}: StoreContext): (retention: Retention, jobsMax: number) => { pruned: number } {
  const rows = database.prepare(`
    SELECT seq, state, created_at AS createdAt, finished_at AS finishedAt
    FROM jobs WHERE seq > ? ORDER BY seq LIMIT ?`)
  const oldest = database.prepare(
    'SELECT seq FROM jobs WHERE finished_at IS NOT NULL ORDER BY seq LIMIT ?',
  )
  const removeAttempts = database.prepare(
    'DELETE FROM attempts WHERE job IN (SELECT value FROM json_each(?))',
  )
  const removeJobs = database.prepare(
    'DELETE FROM jobs WHERE seq IN (SELECT value FROM json_each(?))',
  )
  const usedPages = database.prepare(`
    SELECT (page_count - freelist_count) * page_size AS bytes
    FROM pragma_page_count, pragma_freelist_count, pragma_page_size`)
  let walkedTo = 0

  const remove = (jobs: readonly number[]): number => {
    const list = JSON.stringify(jobs)
    removeAttempts.run(list)
    removeJobs.run(list)
    return jobs.length
  }

  const tooOld = ({ endedMs, failedMs }: Retention, jobsMax: number): number[] => {
    const now = nowMs(clock)
    const found: number[] = []
    let seen = 0
    for (const row of rows.iterate(walkedTo, rowsSeenMax) as Iterable<unknown>) {
      const { seq, state, createdAt, finishedAt } = row as Row
      if (createdAt >= now - Math.min(endedMs, failedMs) || found.length >= jobsMax) break
      seen++
      walkedTo = seq
      const keptMs = state === 'failed' || state === 'dead' ? failedMs : endedMs
      if (finishedAt !== null && finishedAt < now - keptMs) found.push(seq)
    }
    if (seen < rowsSeenMax && found.length < jobsMax) walkedTo = 0
    return found
  }

  return (retention, jobsMax) => {
    let pruned = remove(tooOld(retention, jobsMax))
    while (pruned < jobsMax && Number(usedPages.get()?.bytes) > retention.bytesMax) {
      const room = Math.min(sizeStep, jobsMax - pruned)
      const removed = remove(oldest.all(room).map(({ seq }) => Number(seq)))
      pruned += removed
      if (removed < room) break
    }
    return { pruned }
  }
}
