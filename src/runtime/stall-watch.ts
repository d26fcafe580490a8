/**
 * Notices when somebody's code keeps the event loop for itself. Nothing on the loop can do that, so
 * a thread looks at a counter that the loop moves every second. A process that stands still is named
 * on stderr with the job it began last; when it does not come back before its leases are long over,
 * it is killed: its jobs go on elsewhere or after a restart, and the one that does this every time
 * ends with the dead letters.
 */
import { Worker } from 'node:worker_threads'
import type { Cancel, Clock } from '../actors/ports.ts'

export interface StallLimits {
  readonly reportMs: number
  readonly killMs: number
}

export const stallLimits: StallLimits = { reportMs: 10_000, killMs: 60_000 }

export interface StallWatch {
  /** The thread is there; a loop that stands still before that is not noticed. */
  readonly watching: Promise<void>
  /** The last thing that was begun, should the loop never come back from it. */
  begins(what: string): void
  stop(): Promise<void>
}

/** What thread and loop share: a counter, the length of a text, the text. */
export const noteBytesMax = 200
export const sharedBytes = 8 + noteBytesMax

const TICK_MS = 1_000

export function startStallWatch(clock: Clock, limits: StallLimits = stallLimits): StallWatch {
  const shared = new SharedArrayBuffer(sharedBytes)
  const numbers = new Int32Array(shared, 0, 2)
  const note = new Uint8Array(shared, 8)
  const thread = new Worker(new URL('./stall-watch-thread.ts', import.meta.url), {
    workerData: { shared, ...limits },
    // Whatever this process was started with is not meant for the thread.
    execArgv: [],
  })
  const watching = new Promise<void>((resolve) => thread.once('message', () => resolve()))
  thread.unref()
  let cancel: Cancel = () => {}
  const tick = () => {
    Atomics.add(numbers, 0, 1)
    Atomics.notify(numbers, 0)
    cancel = clock.wakeAt(clock.now() + TICK_MS, tick)
  }
  tick()
  return {
    watching,
    begins(what) {
      const length = Math.min(what.length, noteBytesMax)
      for (let index = 0; index < length; index++) note[index] = what.charCodeAt(index)
      numbers[1] = length
    },
    async stop() {
      cancel()
      await thread.terminate()
    },
  }
}
