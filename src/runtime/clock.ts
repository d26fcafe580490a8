/**
 * The only file that reads the clock and sets timers.
 *
 * Time starts at the wall clock and then follows the monotonic one, so that it never goes back and
 * a corrected wall clock cannot make a limiter generous.
 */
import type { Cancel, Clock } from '../actors/ports.ts'

// Longer timers would fire at once: Node keeps the delay in 31 bits.
const TIMER_MS_MAX = 2 ** 31 - 1

const startedAt = Date.now() - performance.now()

export const systemClock: Clock = {
  now: () => startedAt + performance.now(),
  wakeAt,
  soon: (work) => {
    setImmediate(work)
  },
}

function wakeAt(at: number, work: () => void): Cancel {
  let timer: NodeJS.Timeout
  const arm = () => {
    const delayMs = at - systemClock.now()
    timer =
      delayMs > TIMER_MS_MAX
        ? setTimeout(arm, TIMER_MS_MAX)
        : setTimeout(work, Math.max(0, Math.ceil(delayMs)))
  }
  arm()
  return () => clearTimeout(timer)
}
