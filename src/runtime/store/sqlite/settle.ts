import type { FinalState, JobState, Settlement, SettleVerdict } from '../job-store.ts'
import { type Ending, endStatement, endTaskStatement } from './ending.ts'
import { recordAttemptStatement } from './past-attempts.ts'
import { afterMs, nowMs, type StoreContext } from './store-context.ts'
import { tallyStatement } from './tallies.ts'

type Return = Extract<Settlement, { kind: 'requeue' | 'park' }>

interface Settled {
  readonly seq: number
  readonly state: JobState
  readonly fence: number
  readonly settledFence: number | null
  readonly nodeId: string
  readonly taskId: string | null
  readonly attempt: number
  readonly startedAt: number
  readonly isCancelRequested: number
}

const overtaken: Ending = {
  state: 'skipped',
  reason: 'Its task was changed or deleted while it ran.',
}

/** Each settlement by itself, under its fence; see `SettleVerdict`. */
export function settleStatement(
  context: StoreContext,
): (nodeId: string, settlements: readonly Settlement[]) => readonly SettleVerdict[] {
  const settlePlainly = plainStatement(context)
  const find = context.database.prepare(`
    SELECT seq, state, fence, settled_fence AS settledFence, node_id AS nodeId, task_id AS taskId,
      attempt, started_at AS startedAt, is_cancel_requested AS isCancelRequested
    FROM jobs WHERE id = ?`)
  const end = endStatement(context)
  const endTask = endTaskStatement(context)
  const giveBack = giveBackStatement(context)
  const tally = tallyStatement(context.database)

  return (nodeId, settlements) => {
    const ended: FinalState[] = []
    const settleOne = (settlement: Settlement): SettleVerdict => {
      if (settlePlainly(settlement)) {
        ended.push('done')
        return 'settled'
      }
      const job = find.get(settlement.id) as unknown as Settled | undefined
      if (job?.fence !== settlement.fence) return 'lost'
      if (job.state !== 'running') return job.settledFence === job.fence ? 'settled' : 'lost'
      const outcome = outcomeOf(settlement, job.isCancelRequested === 1)
      if ('kind' in outcome) {
        giveBack(job, outcome)
        return 'settled'
      }
      const isTaken =
        job.taskId === null || endTask(job.taskId, outcome) || outcome.state === 'cancelled'
      const ending = isTaken ? outcome : overtaken
      end(job.seq, ending, job.fence)
      ended.push(ending.state)
      return isTaken ? 'settled' : 'overtaken'
    }
    const verdicts = settlements.map(settleOne)
    tally(nodeId, ended)
    return verdicts
  }
}

/** The common case in one statement: a job without a task that is done. False: look closer. */
function plainStatement({ database, clock }: StoreContext): (settlement: Settlement) => boolean {
  const done = database.prepare(`
    UPDATE jobs SET state = 'done', finished_at = ?, settled_fence = fence, result = ?,
      error_code = NULL, error_message = NULL, reason = NULL
    WHERE id = ? AND fence = ? AND state = 'running' AND task_id IS NULL`)
  return (settlement) =>
    settlement.kind === 'done' &&
    done.run(nowMs(clock), settlement.result, settlement.id, settlement.fence).changes === 1
}

/** What somebody wanted cancelled does not go back to the queue. */
function outcomeOf(settlement: Settlement, isCancelRequested: boolean): Ending | Return {
  switch (settlement.kind) {
    case 'done':
      return { state: 'done', result: settlement.result }
    case 'skipped':
      return { state: 'skipped', reason: settlement.reason }
    case 'failed':
    case 'dead':
      return { state: settlement.kind, error: settlement.error }
    case 'cancelled':
      return { state: 'cancelled' }
    case 'requeue':
    case 'park':
      return isCancelRequested ? { state: 'cancelled' } : settlement
    default:
      return settlement satisfies never
  }
}

/** Back to the queue, at once or later; a parked job gets its attempt back. */
function giveBackStatement(context: StoreContext): (job: Settled, settlement: Return) => void {
  const { database, clock } = context
  const record = recordAttemptStatement(context)
  const giveBack = database.prepare(`
    UPDATE jobs SET state = ?, run_at = ?, attempt = ?, settled_fence = fence, error_code = ?,
      error_message = ?, reason = ?
    WHERE seq = ?`)
  return (job, settlement) => {
    const { seq, attempt, fence, nodeId, startedAt } = job
    const { kind, delayMs } = settlement
    const error = kind === 'requeue' ? settlement.error : null
    giveBack.run(
      delayMs > 0 ? 'scheduled' : 'queued',
      afterMs(clock, delayMs),
      kind === 'park' ? attempt - 1 : attempt,
      error?.code ?? null,
      error?.message ?? null,
      kind === 'park' ? settlement.reason : null,
      seq,
    )
    record(seq, { attempt, fence, nodeId, startedAt, endedAt: nowMs(clock), kind, error })
  }
}
