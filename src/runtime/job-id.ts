/**
 * Names for jobs: UUIDs of version 7, which sort by the time of their making. Within one maker each
 * is greater than the one before, also within one millisecond and when the clock stands still, so
 * jobs submitted in order are in order.
 */
import type { Clock } from '../actors/ports.ts'
import type { RandomBytes } from './random.ts'

export type MakeJobId = () => string

/** Between time and chance stand 42 bits that count up from a random start below half of them. */
const START_MAX = 2 ** 41
const LOW = 2 ** 30

export function jobIdMaker(clock: Pick<Clock, 'now'>, bytes: RandomBytes): MakeJobId {
  let ms = 0
  let count = 0
  let tail = ''
  return () => {
    const now = Math.floor(clock.now())
    if (now > ms) {
      const random = Buffer.from(bytes(10))
      ms = now
      count = random.readUIntBE(0, 6) % START_MAX
      tail = random.toString('hex', 6)
    } else count++
    return uuid(ms, count, tail)
  }
}

/** The count fills the 12 bits after the version and the 30 bits after the variant. */
function uuid(ms: number, count: number, tail: string): string {
  const time = ms.toString(16).padStart(12, '0')
  const high = Math.floor(count / LOW)
    .toString(16)
    .padStart(3, '0')
  const low = (2 * LOW + (count % LOW)).toString(16)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${high}-${low.slice(0, 4)}-${low.slice(4)}${tail}`
}
