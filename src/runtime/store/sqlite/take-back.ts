import type { FinalState, Recovery } from '../job-store.ts'
import { type Ending, endStatement, endTaskStatement } from './ending.ts'
import { laneName } from './lane.ts'
import { recordAttemptStatement } from './past-attempts.ts'
import { nowMs, type StoreContext } from './store-context.ts'
import { tallyStatement } from './tallies.ts'

interface Crashed {
  readonly seq: number
  readonly id: string
  readonly type: string
  readonly domain: string
  readonly attempt: number
  readonly attemptsMax: number
  /** This one included. */
  readonly crashes: number
  readonly fence: number
  readonly taskId: string | null
  readonly startedAt: number
  readonly isCancelRequested: number
}

/**
 * Takes running jobs from a node that stopped without an answer, at most `jobsMax`. Whoever was
 * wanted cancelled is; whoever crashed too often or has no attempt left is dead, and its task with
 * it; the others wait again, from the second crash on among the suspects.
 */
export function takeBackStatement(
  context: StoreContext,
): (nodeId: string, jobsMax: number) => Recovery {
  const { database, clock, limits } = context
  const running = database.prepare(`
    SELECT seq, id, type, domain, attempt, attempts_max AS attemptsMax, crashes + 1 AS crashes,
      fence, task_id AS taskId, started_at AS startedAt, is_cancel_requested AS isCancelRequested
    FROM jobs WHERE state = 'running' AND node_id = ? LIMIT ?`)
  const count = database.prepare('UPDATE jobs SET crashes = ? WHERE seq = ?')
  const requeue = database.prepare(`UPDATE jobs SET state = 'queued', lane = ? WHERE seq = ?`)
  const end = endStatement(context)
  const endTask = endTaskStatement(context)
  const record = recordAttemptStatement(context)
  const tally = tallyStatement(database)

  return (nodeId, jobsMax) => {
    const dead: string[] = []
    const ended: FinalState[] = []
    const jobs = running.all(nodeId, jobsMax) as unknown as Crashed[]
    for (const job of jobs) {
      const { seq, id, type, domain, attempt, crashes, fence, startedAt } = job
      count.run(crashes, seq)
      record(seq, {
        ...{ attempt, fence, nodeId, startedAt, endedAt: nowMs(clock) },
        ...{ kind: 'crash', error: null },
      })
      const ending = endingOf(job, limits.crashesMax)
      if (!ending) {
        requeue.run(laneName({ type, domain, isSuspect: crashes >= limits.suspectCrashes }), seq)
        continue
      }
      end(seq, ending, null)
      if (job.taskId !== null) endTask(job.taskId, ending)
      ended.push(ending.state)
      if (ending.state === 'dead') dead.push(id)
    }
    tally(nodeId, ended)
    return { requeued: jobs.length - ended.length, dead, cancelled: ended.length - dead.length }
  }
}

function endingOf(job: Crashed, crashesMax: number): Ending | undefined {
  const { attempt, attemptsMax, crashes } = job
  if (job.isCancelRequested === 1) return { state: 'cancelled' }
  if (crashes >= crashesMax)
    return {
      state: 'dead',
      error: {
        code: 'job.poison',
        message: `Its node stopped ${crashes} times while running it. Find out what it does to the process, then replay it.`,
      },
    }
  if (attempt >= attemptsMax)
    return {
      state: 'dead',
      error: {
        code: 'attempts.exhausted',
        message: `Its node stopped during the last of ${attemptsMax} attempts. Replay it to give it new ones.`,
      },
    }
  return undefined
}
