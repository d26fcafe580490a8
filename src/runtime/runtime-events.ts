import type { FinalState, PauseScope, Recovery } from './store/job-store.ts'

interface AboutJob {
  readonly id: string
  readonly type: string
  readonly domain: string
  readonly attempt: number
  readonly fence: number
  readonly at: number
}

/** What became of a job's attempt: an end, or back to the queue. */
export type SettledAs = FinalState | 'requeued' | 'parked'

/** Everything the runtime tells the world; logs, metrics, pages and tests subscribe. */
export interface RuntimeEventMap {
  'jobs.submitted': { readonly at: number; readonly jobs: number; readonly duplicates: number }
  'jobs.claimed': { readonly at: number; readonly jobs: number }
  'job.started': AboutJob & { readonly waitedMs: number }
  'job.logged': AboutJob & {
    readonly message: string
    readonly fields: Readonly<Record<string, unknown>>
    readonly traceId: string
    readonly spanId: string
  }
  'job.progressed': AboutJob & { readonly done: number; readonly total: number | null }
  'job.settled': AboutJob & {
    readonly as: SettledAs
    readonly error: { readonly code: string; readonly message: string } | null
  }
  /** Another node has it; what this one did of it is written nowhere. */
  'job.lost': AboutJob
  /** Its handler goes on although it was told to stop: its signal is not being heeded. */
  'job.deaf': AboutJob & { readonly reason: string }
  'node.enlisted': { readonly at: number; readonly epoch: number; readonly recovered: Recovery }
  'node.leaseLost': { readonly at: number; readonly jobs: number; readonly reason: string }
  'jobs.rescued': { readonly at: number; readonly recovered: Recovery }
  'outbox.relayed': { readonly at: number; readonly moved: number; readonly refused: number }
  'schedules.fired': { readonly at: number; readonly fired: number }
  'schedule.refused': { readonly at: number; readonly name: string; readonly reason: string }
  'jobs.pruned': { readonly at: number; readonly pruned: number }
  'tasks.requeued': { readonly at: number; readonly tasks: number }
  'queue.paused': { readonly at: number; readonly scope: PauseScope }
  'queue.resumed': { readonly at: number; readonly scope: PauseScope }
  'duty.failed': {
    readonly at: number
    readonly duty: string
    readonly failures: number
    readonly error: unknown
  }
  'duty.recovered': { readonly at: number; readonly duty: string }
}
