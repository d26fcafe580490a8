/**
 * A node whose jobs run until it is told to let them finish, for the benchmark of recovery. It says
 * when all of them run, when all have ended, and how long stopping took.
 */
import { createRuntime, type RuntimeOptions } from '../../src/runtime/create-runtime.ts'

export interface NodePlan extends Pick<RuntimeOptions, 'data' | 'databaseUrl' | 'redisUrl'> {
  readonly jobs: number
  /** In its first life it brings the jobs; in the next it finds them. */
  readonly isFirst: boolean
}

export type Order = 'finish' | 'stop'
export type Report =
  | { readonly told: 'allRun' }
  | { readonly told: 'allEnded'; readonly done: number; readonly other: number }
  | { readonly told: 'stopped'; readonly stopMs: number; readonly handedBack: number }

const SUBMITTED_AT_ONCE = 1_000

if (process.send) await live(JSON.parse(process.argv[2] ?? '') as NodePlan)

async function live({ jobs, isFirst, ...addresses }: NodePlan): Promise<void> {
  const { promise: finished, resolve: finish } = Promise.withResolvers<void>()
  let running = 0
  const runtime = await createRuntime({
    ...addresses,
    concurrency: jobs,
    jobs: [
      {
        type: 'held',
        version: '1',
        async run() {
          if (++running === jobs) tell({ told: 'allRun' })
          await finished
        },
      },
    ],
  })
  let settled = 0
  let handedBack = 0
  runtime.on('job.settled', async ({ as }) => {
    if (as === 'parked') handedBack++
    if (++settled < jobs) return
    const { live, ended } = await runtime.stats()
    const other = live.queued + live.scheduled + live.running + ended.dead + ended.failed
    tell({ told: 'allEnded', done: ended.done, other })
  })

  process.on('message', async (order: Order) => {
    if (order === 'finish') return finish()
    const from = performance.now()
    await runtime.stop({ graceMs: 0 })
    tell({ told: 'stopped', stopMs: performance.now() - from, handedBack })
    process.disconnect()
  })
  await runtime.start()
  for (let sent = 0; isFirst && sent < jobs; sent += SUBMITTED_AT_ONCE)
    await runtime.submitMany(
      Array.from({ length: Math.min(SUBMITTED_AT_ONCE, jobs - sent) }, () => ({ type: 'held' })),
    )
}

function tell(report: Report): void {
  process.send?.(report)
}
