import type { Decision } from '../machines/decision.ts'
import { valueText } from './job-value.ts'
import type { SettledAs } from './runtime-events.ts'
import type { Settlement } from './store/job-store.ts'

/** The one whose lease is being settled. */
export interface Leased {
  readonly id: string
  readonly fence: number
}

/** What the store is told of a decision: durations, because the store has its own clock. */
export function settlementOf({ id, fence }: Leased, decision: Decision, now: number): Settlement {
  switch (decision.kind) {
    case 'done':
      return { id, fence, kind: 'done', result: valueText(decision.result) }
    case 'requeue':
    case 'park': {
      const { runAt, ...rest } = decision
      return { id, fence, ...rest, delayMs: Math.max(0, Math.ceil(runAt - now)) }
    }
    default:
      return { id, fence, ...decision }
  }
}

export function handedBack({ id, fence }: Leased): Settlement {
  return { id, fence, kind: 'park', delayMs: 0, reason: 'handed back' }
}

export function obsolete({ id, fence }: Leased): Settlement {
  return { id, fence, kind: 'skipped', reason: 'Its task is gone or no longer waits for it.' }
}

export const settledAs: Readonly<Record<Settlement['kind'], SettledAs>> = {
  done: 'done',
  skipped: 'skipped',
  failed: 'failed',
  dead: 'dead',
  cancelled: 'cancelled',
  requeue: 'requeued',
  park: 'parked',
}
