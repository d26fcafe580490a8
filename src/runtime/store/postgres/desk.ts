import { finalStates, type JobDesk, type JobState, type PastAttempt } from '../job-store.ts'
import type { Database } from './database.ts'
import { conditionsOf } from './job-filter.ts'
import { isJobId, type JobRow, jobColumns, jobRecord, storedError } from './job-row.ts'
import { domainOfLane, typeOfLane } from './lane.ts'

type Looking = Pick<JobDesk, 'get' | 'pastAttempts' | 'list' | 'counts' | 'lanes'>

/** Reads only. Live jobs are counted in their partial indexes, ended ones were counted as they ended. */
const countStatement = (s: string) => `
SELECT queued.count AS queued, queued.oldest,
  (SELECT count(*) FROM ${s}.jobs WHERE state = 'scheduled') AS scheduled,
  (SELECT count(*) FROM ${s}.jobs WHERE state = 'running') AS running,
  (SELECT count(*) FROM ${s}.outbox WHERE refusal IS NULL) AS outbox,
  (SELECT coalesce(json_object_agg(state, count), '{}') FROM (
    SELECT state, sum(count) AS count FROM ${s}.tallies GROUP BY state) AS sums) AS ended
FROM (SELECT count(*), min(run_at) AS oldest FROM ${s}.jobs WHERE state = 'queued') AS queued`

export function postgresDesk(database: Database): Looking {
  const s = database.schema

  return {
    async get(id) {
      if (!isJobId(id)) return undefined
      const [row] = await database.query<JobRow>(
        `SELECT ${jobColumns} FROM ${s}.jobs WHERE id = $1`,
        [id],
      )
      return row && jobRecord(row)
    },

    async pastAttempts(id) {
      if (!isJobId(id)) return []
      const rows = await database.query<
        Omit<PastAttempt, 'error'> & { error_code: string | null; error_message: string | null }
      >(
        `SELECT attempt, fence, node_id AS "nodeId", started_at AS "startedAt",
           ended_at AS "endedAt", kind, error_code, error_message
         FROM ${s}.attempts WHERE job_id = $1 ORDER BY seq`,
        [id],
      )
      return rows.map(({ error_code, error_message, ...attempt }) => ({
        ...attempt,
        error: storedError({ error_code, error_message }),
      }))
    },

    async list(filter, { after, jobsMax }) {
      if (after !== null && !isJobId(after)) return { jobs: [], next: null }
      const { text, values } = conditionsOf(filter, [after, jobsMax + 1])
      const rows = await database.query<JobRow>(
        `SELECT ${jobColumns} FROM ${s}.jobs WHERE ($1::uuid IS NULL OR id < $1) AND ${text}
         ORDER BY id DESC LIMIT $2`,
        values,
      )
      const jobs = rows.slice(0, jobsMax).map(jobRecord)
      return { jobs, next: rows.length > jobsMax ? (jobs.at(-1)?.id ?? null) : null }
    },

    async counts() {
      const [row] = await database.query<{
        queued: number
        oldest: number | null
        scheduled: number
        running: number
        outbox: number
        ended: Partial<Record<JobState, number>>
      }>(countStatement(s))
      if (!row) throw new Error('an aggregate without a row')
      const { queued, scheduled, running, outbox, ended, oldest } = row
      const none = Object.fromEntries(finalStates.map((state) => [state, 0]))
      return {
        live: { queued, scheduled, running },
        ended: { ...none, ...ended } as Record<(typeof finalStates)[number], number>,
        outbox,
        oldestQueuedAt: oldest,
      }
    },

    /** Reads every entry of the ready index, and nothing else: for people, not for the queue. */
    async lanes(lanesMax) {
      return database.query(
        `SELECT ${typeOfLane} AS type, ${domainOfLane} AS domain, sum(queued)::bigint AS queued
         FROM (SELECT lane, count(*) AS queued FROM ${s}.jobs WHERE state = 'queued'
               GROUP BY lane) AS counted
         GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT $1`,
        [lanesMax],
      )
    },
  }
}
