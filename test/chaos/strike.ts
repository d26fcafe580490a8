import type { Chronicle } from './chronicle.ts'

/** Where a process can be struck down. */
export type Point =
  /** The claim is answered, nothing has begun. */
  | 'after claim'
  /** In a performer, or in a handler whose checkpoint is safe. */
  | 'in third'
  | 'after checkpoint'
  /** The decision is made, and not sent. */
  | 'before settle'
  /** It is committed, and the answer not passed on. */
  | 'after settle'
  /** Inside the relay's transaction; right after it was committed. */
  | 'in relay'
  | 'after relay'
  /** Half of a group of snapshots is written, or all of it is sent, and nothing answered. */
  | 'in snapshot write'

export interface Strike {
  readonly point: Point
  /** At which time it comes by; the first unless said otherwise. */
  readonly nth?: number
  /** SIGKILL unless said otherwise. */
  readonly signal?: 'SIGKILL' | 'SIGSTOP'
}

/** Takes effect before it returns: nothing after the point happens. */
export type Striker = (point: Point) => void

export function striker(strike: Strike | undefined, chronicle: Chronicle): Striker {
  let passed = 0
  return (point) => {
    if (point !== strike?.point || ++passed !== (strike.nth ?? 1)) return
    chronicle.write({ what: 'struck', point })
    process.kill(process.pid, strike.signal ?? 'SIGKILL')
  }
}
