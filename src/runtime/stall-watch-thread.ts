/** The thread of stall-watch.ts. It waits for the counter to move and needs no timers for that. */
import { writeSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'

const STDERR = 2

const { shared, reportMs, killMs } = workerData as {
  readonly shared: SharedArrayBuffer
  readonly reportMs: number
  readonly killMs: number
}
const numbers = new Int32Array(shared, 0, 2)

/** False when the counter has not moved for so long. */
function moves(from: number, withinMs: number): boolean {
  return Atomics.wait(numbers, 0, from, withinMs) !== 'timed-out'
}

function begunLast(): string {
  const bytes = Buffer.from(shared).subarray(8, 8 + (numbers[1] ?? 0))
  return bytes.length > 0 ? ` The last thing it began is ${bytes.toString('latin1')}.` : ''
}

// Straight to the file: the usual way leads over the loop that stands still.
function say(text: string): void {
  writeSync(STDERR, `Decorum ${text}\n`)
}

parentPort?.postMessage('watching')
for (;;) {
  const seen = Atomics.load(numbers, 0)
  if (moves(seen, reportMs)) continue
  say(
    `has stood still for ${reportMs / 1_000} s: something keeps the event loop busy.${begunLast()} Long computations belong in a thread.`,
  )
  if (moves(seen, killMs - reportMs)) continue
  say(`ends itself after standing still for ${killMs / 1_000} s. Its jobs are safe.${begunLast()}`)
  process.kill(process.pid, 'SIGKILL')
}
