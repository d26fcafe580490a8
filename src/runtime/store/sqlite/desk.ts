/** Looking at jobs. Nothing here changes anything. */
import type { JobCounts, JobFilter, JobPage, JobRecord } from '../job-store.ts'
import { all, filterCondition, jobsFor } from './job-filter.ts'
import { type JobRow, jobColumns, jobRecord } from './job-row.ts'
import { readLane } from './lane.ts'
import type { StoreContext } from './store-context.ts'
import { endedStatement } from './tallies.ts'

export function getStatement({ database }: StoreContext): (id: string) => JobRecord | undefined {
  const select = database.prepare(`SELECT ${jobColumns} FROM jobs WHERE id = ?`)
  return (id) => {
    const row = select.get(id)
    return row && jobRecord(row as unknown as JobRow)
  }
}

/** Newest first, because ids sort by time. One more than asked for tells whether there are more. */
export function listStatement({
  database,
}: StoreContext): (
  filter: JobFilter,
  page: { readonly after: string | null; readonly jobsMax: number },
) => JobPage {
  return (filter, { after, jobsMax }) => {
    const { sql, values } = all([
      filterCondition(filter),
      after !== null && { sql: 'id < ?', values: [after] },
    ])
    const select = database.prepare(
      `SELECT ${jobColumns} FROM ${jobsFor(filter)} WHERE ${sql} ORDER BY id DESC LIMIT ?`,
    )
    const rows = select.all(...values, jobsMax + 1) as unknown as JobRow[]
    const jobs = rows.slice(0, jobsMax).map(jobRecord)
    return { jobs, next: rows.length > jobsMax ? (jobs.at(-1)?.id ?? null) : null }
  }
}

/** Live ones are counted where they stand, in the indexes that hold nothing else. */
export function countsStatement({ database }: StoreContext): () => JobCounts {
  const select = database.prepare(`
    SELECT queued, oldest,
      (SELECT count(*) FROM jobs WHERE state = 'scheduled') AS scheduled,
      (SELECT count(*) FROM jobs WHERE state = 'running') AS running,
      (SELECT count(*) FROM outbox WHERE refusal IS NULL) AS outbox
    FROM (SELECT count(*) AS queued, min(run_at) AS oldest FROM jobs WHERE state = 'queued')`)
  const ended = endedStatement(database)
  return () => {
    const row = select.get() as Record<string, number | null>
    return {
      live: {
        queued: Number(row.queued),
        scheduled: Number(row.scheduled),
        running: Number(row.running),
      },
      ended: ended(),
      outbox: Number(row.outbox),
      oldestQueuedAt: row.oldest ?? null,
    }
  }
}

/** Suspects are counted with the others of their type and domain. */
export function lanesStatement({
  database,
}: StoreContext): (
  lanesMax: number,
) => readonly { type: string; domain: string; queued: number }[] {
  const select = database.prepare(`
    SELECT min(lane) AS lane, sum(queued) AS queued FROM
      (SELECT lane, count(*) AS queued FROM jobs WHERE state = 'queued' GROUP BY lane)
    GROUP BY substr(lane, 2) ORDER BY queued DESC, lane LIMIT ?`)
  return (lanesMax) =>
    select.all(lanesMax).map(({ lane, queued }) => {
      const { type, domain } = readLane(String(lane))
      return { type, domain, queued: Number(queued) }
    })
}
