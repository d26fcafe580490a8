import type { DutyOptions } from './duty.ts'
import type { JobWorker } from './job-worker.ts'
import type { ClaimRequest, JobQueue } from './store/job-store.ts'

export interface ClaimerOptions {
  readonly queue: JobQueue
  readonly worker: JobWorker
  readonly nodeId: string
  readonly types: readonly string[]
  readonly pollMs: number
  readonly batchMax: number
  /** Undefined while the node holds no lease. */
  epoch(): number | undefined
  /** Domains that cannot take a request now. */
  refusedDomains(): readonly string[]
  onClaimed(jobs: number): void
}

/**
 * Fills the worker as long as it has room and there is something to be had. It rests when a walk
 * over all lanes, from the first to the last, has found nothing.
 */
export function claimer(options: ClaimerOptions): DutyOptions {
  const { queue, worker, nodeId, types, pollMs, batchMax } = options
  let after: string | null = null

  async function claimOnce(epoch: number, jobsMax: number): Promise<'more' | 'nothing'> {
    const from = after
    const request: ClaimRequest = {
      nodeId,
      epoch,
      jobsMax,
      types,
      refusedDomains: [...options.refusedDomains(), ...worker.counts.fullDomains],
      domainJobsMax: worker.counts.domainJobsMax,
      takesSuspect: !worker.counts.hasSuspect,
      after: from,
    }
    const { jobs, next } = await queue.claim(request)
    after = next
    if (jobs.length > 0) {
      options.onClaimed(jobs.length)
      worker.take(jobs)
    }
    return jobs.length === 0 && from === null && next === null ? 'nothing' : 'more'
  }

  return {
    name: 'claimer',
    everyMs: pollMs,
    async runOnce() {
      for (;;) {
        const epoch = options.epoch()
        const jobsMax = Math.min(worker.room, batchMax)
        if (epoch === undefined || jobsMax === 0) return
        if ((await claimOnce(epoch, jobsMax)) === 'nothing') return
      }
    },
  }
}
