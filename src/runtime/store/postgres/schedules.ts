import type { NewJob, ScheduleRecord, Upkeep } from '../job-store.ts'
import type { Database } from './database.ts'
import type { Announcer } from './hints.ts'
import { insertJobs } from './intake.ts'
import { jsonRows } from './json-rows.ts'

type Schedules = Pick<Upkeep, 'putSchedule' | 'removeSchedule' | 'schedules' | 'fireSchedules'>

const columns = `name, cron, time_zone AS "timeZone", type, body, domain, priority,
  is_paused AS "isPaused", next_at AS "nextAt", last_at AS "lastAt"`

// The rest comes with the next call: a transaction should not hold hundreds of schedules.
const FIRED_AT_ONCE_MAX = 200

export function postgresSchedules(database: Database, hints: Announcer): Schedules {
  const s = database.schema

  return {
    async putSchedule(schedule, nextAt) {
      await database.query(
        `INSERT INTO ${s}.schedules (name, cron, time_zone, type, body, domain, priority, is_paused,
           next_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         ON CONFLICT (name) DO UPDATE SET cron = excluded.cron, time_zone = excluded.time_zone,
           type = excluded.type, body = excluded.body, domain = excluded.domain,
           priority = excluded.priority, is_paused = excluded.is_paused,
           next_at = excluded.next_at`,
        [
          schedule.name,
          schedule.cron,
          schedule.timeZone,
          schedule.type,
          schedule.body,
          schedule.domain,
          schedule.priority,
          schedule.isPaused,
          Math.ceil(nextAt),
        ],
      )
    },

    async removeSchedule(name) {
      const removed = await database.query(
        `DELETE FROM ${s}.schedules WHERE name = $1 RETURNING name`,
        [name],
      )
      return removed.length > 0
    },

    async schedules() {
      return database.query<ScheduleRecord>(`SELECT ${columns} FROM ${s}.schedules ORDER BY name`)
    },

    /** The job and the next instant are written together; a schedule somebody else fires is left out. */
    async fireSchedules(fire) {
      const answer = await database.transaction(async (statements) => {
        const due = await statements.query<ScheduleRecord & { now: number }>(
          `SELECT ${columns}, clock.now
           FROM ${s}.schedules, (SELECT ${s}.now_ms() AS now OFFSET 0) AS clock
           WHERE NOT is_paused AND next_at <= clock.now
           ORDER BY name LIMIT ${FIRED_AT_ONCE_MAX} FOR UPDATE OF schedules SKIP LOCKED`,
        )
        const jobs: NewJob[] = []
        const moves = due.map(({ now, ...schedule }) => {
          const { job, nextAt } = fire(schedule, now)
          if (job) jobs.push(job)
          return { name: schedule.name, next_at: Math.ceil(nextAt) }
        })
        await insertJobs(statements, s, jobs)
        if (moves.length > 0)
          await statements.query(
            `UPDATE ${s}.schedules SET last_at = schedules.next_at, next_at = given.next_at
             FROM json_to_recordset($1) AS given (name text, next_at bigint)
             WHERE schedules.name = given.name`,
            [jsonRows(moves)],
          )
        const [next] = await statements.query<{ ms: number | null }>(
          `SELECT min(next_at) - ${s}.now_ms() AS ms FROM ${s}.schedules WHERE NOT is_paused`,
        )
        return { fired: jobs.length, nextDueInMs: next?.ms ?? null }
      })
      if (answer.fired > 0) hints.announce('jobs')
      return answer
    },
  }
}
