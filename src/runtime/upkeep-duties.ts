/**
 * What has to be done beside running jobs, each a duty of the same shape. All of it may be done by
 * any node at any time; what only one should do at a time takes turns through the store.
 */
import type { Clock } from '../actors/ports.ts'
import type { TypedEvents } from '../actors/typed-events.ts'
import type { Submission } from '../jobs/submission.ts'
import type { DutyOptions } from './duty.ts'
import type { RuntimeEventMap } from './runtime-events.ts'
import { dueSubmission, nextInstant } from './schedule.ts'
import type {
  JobStore,
  NewJob,
  ReadOutboxRow,
  Retention,
  ScheduleRecord,
} from './store/job-store.ts'

export interface UpkeepParts {
  readonly clock: Clock
  readonly store: JobStore
  readonly events: TypedEvents<RuntimeEventMap>
  readonly nodeId: string
  readonly retention: Retention
  readonly readOutboxRow: ReadOutboxRow
  read(submission: Submission): NewJob | { readonly refusal: string }
  /** There may be something to claim. */
  wakeClaimer(): void
}

export const upkeepIntervals = {
  stagerMs: 1_000,
  relayMs: 1_000,
  schedulerMs: 1_000,
  rescuerMs: 5_000,
  sweeperMs: 15 * 60_000,
} as const

const PROMOTE_MAX = 1_000
const RELAY_MAX = 1_000
const RESCUE_MAX = 1_000
const PRUNE_MAX = 10_000
const TASKS_MAX = 1_000
/** The last instant a date can hold. */
const NEVER = 8.64e15
const STRAY_TASK_MS = 60 * 60_000

/** Makes jobs ready whose time has come. */
export function stager({ store, wakeClaimer }: UpkeepParts): DutyOptions {
  return {
    name: 'stager',
    everyMs: upkeepIntervals.stagerMs,
    async runOnce() {
      const { promoted, nextDueInMs } = await store.promote(PROMOTE_MAX)
      if (promoted > 0) wakeClaimer()
      return promoted === PROMOTE_MAX ? 0 : (nextDueInMs ?? undefined)
    },
  }
}

/** Moves what others wrote in transactions of their own into the queue. */
export function relay(parts: UpkeepParts): DutyOptions {
  const { store, readOutboxRow, events, clock, wakeClaimer } = parts
  return {
    name: 'relay',
    everyMs: upkeepIntervals.relayMs,
    async runOnce() {
      const { moved, refused } = await store.relay(RELAY_MAX, readOutboxRow)
      if (moved + refused === 0) return
      events.emit('outbox.relayed', () => ({ at: clock.now(), moved, refused }))
      if (moved > 0) wakeClaimer()
      return moved + refused === RELAY_MAX ? 0 : undefined
    },
  }
}

/**
 * Submits the jobs of schedules whose instant has come. Instants that passed while nobody was there
 * are one job, not many.
 */
export function scheduler({ store, events, clock, read, wakeClaimer }: UpkeepParts): DutyOptions {
  function fire(schedule: ScheduleRecord, now: number) {
    const { name, cron, timeZone, nextAt } = schedule
    /** Whatever is wrong with one schedule must not keep the others. */
    const ifPossible = <T>(make: () => T): T | null => {
      try {
        return make()
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        events.emit('schedule.refused', () => ({ at: clock.now(), name, reason }))
        return null
      }
    }
    return {
      job: ifPossible(() => {
        const job = read(dueSubmission(schedule))
        if ('refusal' in job) throw new Error(job.refusal)
        return job
      }),
      nextAt: ifPossible(() => nextInstant(cron, timeZone, Math.max(now, nextAt))) ?? NEVER,
    }
  }

  return {
    name: 'scheduler',
    everyMs: upkeepIntervals.schedulerMs,
    async runOnce() {
      const { fired, nextDueInMs } = await store.fireSchedules(fire)
      if (fired > 0) {
        events.emit('schedules.fired', () => ({ at: clock.now(), fired }))
        wakeClaimer()
      }
      return nextDueInMs ?? undefined
    },
  }
}

/** Takes back the jobs of nodes that are gone. */
export function rescuer({ store, events, clock, wakeClaimer }: UpkeepParts): DutyOptions {
  return {
    name: 'rescuer',
    everyMs: upkeepIntervals.rescuerMs,
    async runOnce() {
      const recovered = await store.rescue(RESCUE_MAX)
      const jobs = recovered.requeued + recovered.dead.length + recovered.cancelled
      if (jobs === 0) return
      events.emit('jobs.rescued', () => ({ at: clock.now(), recovered }))
      wakeClaimer()
      return jobs === RESCUE_MAX ? 0 : undefined
    },
  }
}

/** Ended jobs past their time, and tasks whose job has got lost on the way. */
export function sweeper(parts: UpkeepParts): DutyOptions {
  const { store, events, clock, nodeId, retention } = parts
  return {
    name: 'sweeper',
    everyMs: upkeepIntervals.sweeperMs,
    async runOnce() {
      if (!(await store.takeTurn('sweeper', nodeId, upkeepIntervals.sweeperMs / 2))) return
      const tasks = await store.tasks.requeueStray(STRAY_TASK_MS, TASKS_MAX)
      if (tasks > 0) events.emit('tasks.requeued', () => ({ at: clock.now(), tasks }))
      const { pruned } = await store.prune(retention, PRUNE_MAX)
      if (pruned > 0) events.emit('jobs.pruned', () => ({ at: clock.now(), pruned }))
      return pruned === PRUNE_MAX || tasks === TASKS_MAX ? 0 : undefined
    },
  }
}
