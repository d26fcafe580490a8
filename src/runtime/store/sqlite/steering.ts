/** What a person does to a job that exists. */
import {
  type CancelVerdict,
  finalStates,
  type JobFilter,
  type JobState,
  liveStates,
  type StoredError,
} from '../job-store.ts'
import { endStatement, endTaskStatement } from './ending.ts'
import { all, filterCondition } from './job-filter.ts'
import { laneName } from './lane.ts'
import { errorOf, recordAttemptStatement } from './past-attempts.ts'
import { nowMs, type StoreContext } from './store-context.ts'
import { tallyStatement } from './tallies.ts'

/** Ends a job that waits, and its task; one that runs is only marked, for its node to see. */
export function cancelStatement(context: StoreContext): (id: string) => CancelVerdict {
  const { database } = context
  const find = database.prepare('SELECT seq, state, task_id AS taskId FROM jobs WHERE id = ?')
  const request = database.prepare('UPDATE jobs SET is_cancel_requested = 1 WHERE seq = ?')
  const end = endStatement(context)
  const endTask = endTaskStatement(context)
  const tally = tallyStatement(database)
  return (id) => {
    const job = find.get(id) as
      | { readonly seq: number; readonly state: JobState; readonly taskId: string | null }
      | undefined
    if (!job) return 'unknown'
    if (!isLive(job.state)) return 'final'
    if (job.state === 'running') {
      request.run(job.seq)
      return 'requested'
    }
    end(job.seq, { state: 'cancelled' }, null)
    if (job.taskId !== null) endTask(job.taskId, { state: 'cancelled' })
    tally('', ['cancelled'])
    return 'cancelled'
  }
}

function isLive(state: JobState): boolean {
  return (liveStates as readonly JobState[]).includes(state)
}

interface Ended {
  readonly seq: number
  readonly id: string
  readonly type: string
  readonly domain: string
  readonly attempt: number
  readonly fence: number
  readonly taskId: string | null
  readonly nodeId: string | null
  readonly startedAt: number | null
  readonly finishedAt: number
  readonly errorCode: string | null
  readonly errorMessage: string | null
}

/**
 * Final jobs begin again, the newest first: all attempts, no crashes, nothing of the last outcome,
 * which is kept among the past attempts. A task that failed with them waits for them again. The fence goes on counting, so that a late answer to an
 * earlier life is lost. Without states it means those that somebody may want to try again.
 */
export function replayStatement(
  context: StoreContext,
): (
  filter: JobFilter,
  options: { readonly body?: string; readonly jobsMax: number },
) => readonly string[] {
  const { database, clock } = context
  const restart = database.prepare(`
    UPDATE jobs SET state = 'queued', lane = ?, run_at = ?, attempt = 0, crashes = 0,
      since_fence = fence + 1,
      is_cancel_requested = 0, finished_at = NULL, progress = NULL,
      result = NULL, error_code = NULL, error_message = NULL, reason = NULL,
      body = coalesce(?, body)
    WHERE seq = ?`)
  const reopen = database.prepare(`
    UPDATE tasks SET state = 'QUEUED', updated_at = ?, result = NULL, error_code = NULL,
      error_message = NULL
    WHERE id = ? AND state IN ('FAILED', 'CANCELLED')`)
  const record = recordAttemptStatement(context)

  return (filter, { body = null, jobsMax }) => {
    const states = (filter.states ?? ['dead', 'failed', 'cancelled']).filter((state) =>
      finalStates.some((final) => final === state),
    )
    const { sql, values } = all([filterCondition({ ...filter, states })])
    const select = database.prepare(`
      SELECT seq, id, type, domain, attempt, fence, task_id AS taskId, node_id AS nodeId, started_at AS startedAt,
        finished_at AS finishedAt, error_code AS errorCode, error_message AS errorMessage
      FROM jobs WHERE ${sql} ORDER BY id DESC LIMIT ?`)
    const jobs = select.all(...values, jobsMax) as unknown as Ended[]
    for (const job of jobs) {
      record(job.seq, { ...lastLife(job), kind: 'replay' })
      const lane = laneName({ type: job.type, domain: job.domain, isSuspect: false })
      restart.run(lane, nowMs(clock), body, job.seq)
      if (job.taskId !== null) reopen.run(nowMs(clock), job.taskId)
    }
    return jobs.map(({ id }) => id)
  }
}

/** One that was cancelled before it ever ran has had no node and no beginning. */
function lastLife({ attempt, fence, nodeId, startedAt, finishedAt, ...ended }: Ended) {
  const error: StoredError | null = errorOf(ended.errorCode, ended.errorMessage)
  return {
    ...{ attempt, fence, error },
    nodeId: nodeId ?? '',
    startedAt: startedAt ?? finishedAt,
    endedAt: finishedAt,
  }
}
