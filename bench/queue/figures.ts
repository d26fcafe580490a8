import type { Contender } from './contenders.ts'
import type { Performance } from './stage.ts'
import { percentile } from './statistics.ts'
import type { Trial } from './trial.ts'

/** A contender with everything that was measured of it, one entry per round. */
export interface Result {
  readonly contender: Contender
  readonly performances: readonly Performance[]
}

/** One column: how a round's trial becomes a figure, and which direction is better. */
export interface Figure {
  readonly title: string
  readonly unit: 'jobs/s' | 'ms' | 'µs'
  readonly better: 'higher' | 'lower'
  of(trial: Trial, jobs: number): number
}

export const speedFigures: readonly Figure[] = [
  {
    title: 'Enqueue',
    unit: 'jobs/s',
    better: 'higher',
    of: ({ enqueue }, jobs) => jobs / enqueue.wallS,
  },
  {
    title: 'Process',
    unit: 'jobs/s',
    better: 'higher',
    of: ({ process }, jobs) => jobs / process.wallS,
  },
  {
    title: 'End to end',
    unit: 'jobs/s',
    better: 'higher',
    of: ({ enqueue, process }, jobs) => jobs / (enqueue.wallS + process.wallS),
  },
  {
    title: 'Start p50',
    unit: 'ms',
    better: 'lower',
    of: ({ startLatenciesMs }) => percentile(startLatenciesMs, 0.5),
  },
  {
    title: 'Start p99',
    unit: 'ms',
    better: 'lower',
    of: ({ startLatenciesMs }) => percentile(startLatenciesMs, 0.99),
  },
]

export const costFigures: readonly Figure[] = [
  {
    title: 'CPU of the process',
    unit: 'µs',
    better: 'lower',
    of: ({ enqueue, process }, jobs) => (1e6 * (enqueue.nodeCpuS + process.nodeCpuS)) / jobs,
  },
  {
    title: 'CPU of the machine',
    unit: 'µs',
    better: 'lower',
    of: ({ enqueue, process }, jobs) => (1e6 * (enqueue.machineCpuS + process.machineCpuS)) / jobs,
  },
]

export function trialsOf({ performances }: Result): Trial[] {
  return performances.flatMap((one) => (one.outcome === 'measured' ? [one.trial] : []))
}

export function failureOf({ performances }: Result): string | undefined {
  return performances.find((one) => one.outcome === 'failed')?.reason
}
