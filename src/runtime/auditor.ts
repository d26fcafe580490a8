import type { DutyOptions } from './duty.ts'
import type { JobWorker } from './job-worker.ts'
import { handedBack } from './settlement.ts'
import type { JobQueue, NodeRegistry } from './store/job-store.ts'

export interface AuditorParts {
  readonly store: Pick<NodeRegistry & JobQueue, 'runningOn' | 'settle'>
  readonly worker: JobWorker
  readonly nodeId: string
}

const EVERY_MS = 60_000
const JOBS_MAX = 100_000

/**
 * Compares what the store believes to run here with what does. A job that only the store knows of,
 * twice in a row under the same fence, was claimed in an answer that never arrived: it goes back to
 * the queue and keeps its attempt.
 */
export function auditor({ store, worker, nodeId }: AuditorParts): DutyOptions {
  let missing = new Map<string, number>()
  return {
    name: 'auditor',
    everyMs: EVERY_MS,
    async runOnce() {
      const running = await store.runningOn(nodeId, JOBS_MAX)
      const strays = running.filter(({ id, fence }) => worker.fenceOf(id) !== fence)
      const stale = strays.filter(({ id, fence }) => missing.get(id) === fence)
      missing = new Map(strays.map(({ id, fence }) => [id, fence]))
      if (stale.length === 0) return
      await store.settle(nodeId, stale.map(handedBack))
    },
  }
}
