import type { FireSchedule, NewJob, Receipt, ScheduleCard, ScheduleRecord } from '../job-store.ts'
import { dueInMs } from './on-the-way.ts'
import { nowMs, type StoreContext } from './store-context.ts'

const columns = `name, cron, time_zone AS timeZone, type, body, domain, priority,
  is_paused AS isPaused, next_at AS nextAt, last_at AS lastAt`

/** A new one, or the new wording of an old one, which keeps when it fired last. */
export function putScheduleStatement({
  database,
}: StoreContext): (schedule: ScheduleCard, nextAt: number) => void {
  const put = database.prepare(`
    INSERT INTO schedules
      (name, cron, time_zone, type, body, domain, priority, is_paused, next_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (name) DO UPDATE SET cron = excluded.cron, time_zone = excluded.time_zone,
      type = excluded.type, body = excluded.body, domain = excluded.domain,
      priority = excluded.priority, is_paused = excluded.is_paused, next_at = excluded.next_at`)
  return ({ name, cron, timeZone, type, body, domain, priority, isPaused }, nextAt) =>
    void put.run(
      ...[name, cron, timeZone, type, body, domain, priority],
      isPaused ? 1 : 0,
      Math.ceil(nextAt),
    )
}

export function removeScheduleStatement({ database }: StoreContext): (name: string) => boolean {
  const remove = database.prepare('DELETE FROM schedules WHERE name = ?')
  return (name) => remove.run(name).changes === 1
}

export function schedulesStatement({ database }: StoreContext): () => readonly ScheduleRecord[] {
  const select = database.prepare(`SELECT ${columns} FROM schedules ORDER BY name`)
  return () => select.all().map(scheduleRecord)
}

/** The job and the next instant are written together: no instant is lost, and none comes twice. */
export function fireSchedulesStatement(
  { database, clock }: StoreContext,
  add: (jobs: readonly NewJob[]) => readonly Receipt[],
): (fire: FireSchedule) => { fired: number; nextDueInMs: number | null } {
  const due = database.prepare(
    `SELECT ${columns} FROM schedules WHERE is_paused = 0 AND next_at <= ? ORDER BY next_at, name`,
  )
  const advance = database.prepare(`
    UPDATE schedules SET last_at = iif(?, next_at, last_at), next_at = ? WHERE name = ?`)
  const next = database.prepare('SELECT min(next_at) AS at FROM schedules WHERE is_paused = 0')
  return (fire) => {
    const now = nowMs(clock)
    const jobs = due.all(now).flatMap((row) => {
      const schedule = scheduleRecord(row)
      const { job, nextAt } = fire(schedule, now)
      advance.run(job ? 1 : 0, Math.ceil(nextAt), schedule.name)
      return job ?? []
    })
    add(jobs)
    return { fired: jobs.length, nextDueInMs: dueInMs(next.get()?.at as number | null, now) }
  }
}

function scheduleRecord(row: object): ScheduleRecord {
  const record = row as ScheduleRecord
  return { ...record, isPaused: Boolean(record.isPaused) }
}
