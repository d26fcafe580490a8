import { cpus } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { collectGarbage, timed } from '../measure.ts'
import type { Contestant, NumberedBody } from './contestant.ts'
import type { RollCall } from './roll-call.ts'

export interface TrialSize {
  readonly jobs: number
  readonly warmUpJobs: number
  readonly singleAdds: number
}

export interface Phase {
  readonly wallS: number
  /** Of this process: producer, worker and driver. */
  readonly nodeCpuS: number
  /** Of the whole machine: servers too, and whatever else runs. */
  readonly machineCpuS: number
}

export interface Trial {
  readonly enqueue: Phase
  readonly process: Phase
  /** Starts beyond the first of each job. */
  readonly repeatedStarts: number
  /** From the call of add to the first line of the handler, when nothing else is queued. */
  readonly startLatenciesMs: readonly number[]
}

const pollMs = 2
// Long enough for any of them to write down the last completion and to wait for work again.
const idleMs = 10

/**
 * One measurement. The clock of processing runs from the call that lets the worker begin until the
 * store says that nothing is unfinished, so what a library still holds back in memory counts.
 */
export async function runTrial(
  contestant: Contestant,
  rollCall: RollCall,
  size: TrialSize,
): Promise<Trial> {
  await contestant.enqueue(bodies(size.warmUpJobs))
  await workOff(contestant, rollCall, size.warmUpJobs)
  await contestant.rest()

  const measured = bodies(size.jobs)
  collectGarbage()
  const enqueue = await phase(() => contestant.enqueue(measured))
  const stored = await contestant.unfinished()
  if (stored !== size.jobs) {
    throw new Error(`${size.jobs} jobs were enqueued, but the store holds ${stored}.`)
  }
  collectGarbage()
  const process = await phase(() => workOff(contestant, rollCall, size.jobs))
  const repeatedStarts = rollCall.repeated

  const startLatenciesMs = await startLatencies(contestant, rollCall, size.singleAdds)
  await contestant.rest()
  return { enqueue, process, repeatedStarts, startLatenciesMs }
}

async function workOff(contestant: Contestant, rollCall: RollCall, jobs: number): Promise<void> {
  const started = rollCall.expect(jobs)
  await contestant.work()
  await started
  while ((await contestant.unfinished()) > 0) await pause(pollMs)
}

/** Follows on processing, so the worker is there and has nothing to do. */
async function startLatencies(
  contestant: Contestant,
  rollCall: RollCall,
  count: number,
): Promise<number[]> {
  const latencies: number[] = []
  for (let times = 0; times < count; times++) {
    await pause(idleMs)
    const started = rollCall.expect(1).then(() => performance.now())
    const calledAt = performance.now()
    await contestant.add({ n: 0 })
    latencies.push((await started) - calledAt)
  }
  return latencies
}

async function phase(work: () => Promise<void>): Promise<Phase> {
  const busyBefore = machineBusyS()
  const { wallS, cpuS } = await timed(work)
  return { wallS, nodeCpuS: cpuS, machineCpuS: machineBusyS() - busyBefore }
}

function machineBusyS(): number {
  const busyMs = cpus().map(({ times }) => times.user + times.nice + times.sys + times.irq)
  return busyMs.reduce((sum, ms) => sum + ms, 0) / 1_000
}

function bodies(count: number): NumberedBody[] {
  return Array.from({ length: count }, (_, n) => ({ n }))
}
