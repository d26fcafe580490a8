/** How a job and its task end, whoever ends them. */
import type { FinalState, StoredError } from '../job-store.ts'
import { nowMs, type StoreContext } from './store-context.ts'

export interface Ending {
  readonly state: FinalState
  readonly result?: string
  readonly error?: StoredError
  readonly reason?: string
}

/** `settledFence` is null when it was not its node that ended it. */
export function endStatement({
  database,
  clock,
}: StoreContext): (job: number, ending: Ending, settledFence: number | null) => void {
  const end = database.prepare(`
    UPDATE jobs SET state = ?, finished_at = ?, settled_fence = coalesce(?, settled_fence),
      result = ?, error_code = ?, error_message = ?, reason = ?
    WHERE seq = ?`)
  return (job, { state, result = null, error, reason = null }, settledFence) => {
    const { code = null, message = null } = error ?? {}
    end.run(state, nowMs(clock), settledFence, result, code, message, reason, job)
  }
}

/**
 * The task gets the outcome of its job if it still waits for one; false when it does not, because
 * somebody has changed or deleted it meanwhile. A skipped job leaves its task as it is.
 */
export function endTaskStatement({
  database,
  clock,
}: StoreContext): (taskId: string, ending: Ending) => boolean {
  const end = database.prepare(`
    UPDATE tasks SET state = ?, updated_at = ?, result = ?, error_code = ?, error_message = ?
    WHERE id = ? AND state = 'QUEUED'`)
  return (taskId, { state, result = null, error }) => {
    if (state === 'skipped') return true
    const { code = null, message = null } = error ?? {}
    return end.run(taskStates[state], nowMs(clock), result, code, message, taskId).changes === 1
  }
}

const taskStates = {
  done: 'COMPLETED',
  failed: 'FAILED',
  dead: 'FAILED',
  cancelled: 'CANCELLED',
} as const
