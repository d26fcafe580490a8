/** Reading cron expressions, in the time zone they were written for. */
import { Cron } from 'croner'
import type { Submission } from '../jobs/submission.ts'
import type { ScheduleRecord } from './store/job-store.ts'

export class ScheduleRefused extends Error {}

/** The first instant after `after`. Throws `ScheduleRefused`, saying what is wrong. */
export function nextInstant(cron: string, timeZone: string, after: number): number {
  let next: Date | null
  try {
    next = new Cron(cron, { timezone: timeZone, paused: true }).nextRun(new Date(after))
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new ScheduleRefused(
      `"${cron}" in the time zone ${timeZone} is no schedule (${why}): use five fields such as "0 6 * * 1-5" and a zone such as Europe/Berlin.`,
      { cause },
    )
  }
  if (!next) throw new ScheduleRefused(`"${cron}" never comes again after this moment.`)
  return next.getTime()
}

/**
 * The submission of a schedule whose instant has come. Its key names that instant, so it is accepted
 * once, whoever hands it in. Throws `ScheduleRefused` when the body is not JSON.
 */
export function dueSubmission(schedule: ScheduleRecord): Submission {
  const { name, type, domain, priority, nextAt } = schedule
  return {
    type,
    body: bodyOf(schedule),
    domain: domain === '' ? undefined : domain,
    priority,
    key: `schedule:${name}:${new Date(nextAt).toISOString()}`,
  }
}

function bodyOf({ name, body }: ScheduleRecord): unknown {
  try {
    return JSON.parse(body)
  } catch (cause) {
    throw new ScheduleRefused(`The body of the schedule "${name}" is not JSON: correct it.`, {
      cause,
    })
  }
}
