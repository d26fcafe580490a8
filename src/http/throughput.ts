import type { Clock } from '../actors/ports.ts'
import type { Runtime } from '../runtime/runtime.ts'

export interface Throughput {
  /** Jobs that ended on this node within the last sixty seconds, however they ended. */
  readonly endedLastMinute: number
}

const SECONDS = 60

/** One counter for each second of the last minute. */
export function throughputOf(runtime: Pick<Runtime, 'on'>, clock: Pick<Clock, 'now'>): Throughput {
  const ended: number[] = new Array(SECONDS).fill(0)
  let latest = secondOf(clock.now())

  /** Gives the counter of this second; those of the seconds since the last look begin anew. */
  function current(): number {
    const now = secondOf(clock.now())
    for (let second = Math.max(latest, now - SECONDS) + 1; second <= now; second++)
      ended[second % SECONDS] = 0
    latest = now
    return now % SECONDS
  }

  runtime.on('job.settled', ({ as }) => {
    if (as !== 'requeued' && as !== 'parked') ended[current()]! += 1
  })
  return {
    get endedLastMinute() {
      current()
      return ended.reduce((sum, jobs) => sum + jobs, 0)
    },
  }
}

function secondOf(ms: number): number {
  return Math.floor(ms / 1_000)
}
