import type { Cancel, Clock } from './ports.ts'
import { type Timed, TimerHeap } from './timer-heap.ts'

interface Alarm extends Timed {
  readonly work: () => void
}

/**
 * Time that moves only when told to. Each timer runs at its own deadline: while it runs, `now()`
 * is that deadline, and a timer set by it counts from there. Ties run in the order of setting.
 */
export class VirtualClock implements Clock {
  #now: number
  readonly #alarms = new TimerHeap<Alarm>()
  #turns: (() => void)[] = []

  constructor(startAt = 0) {
    this.#now = startAt
  }

  now(): number {
    return this.#now
  }

  wakeAt(at: number, work: () => void): Cancel {
    const alarm: Alarm = { work, heapIndex: -1, heapAt: 0, heapOrder: 0 }
    this.#alarms.set(alarm, Math.max(at, this.#now))
    return () => this.#alarms.clear(alarm)
  }

  soon(work: () => void): void {
    this.#turns.push(work)
  }

  /** Runs what is waiting for a turn, and what that puts on next, without moving time. */
  settle(): void {
    while (this.#turns.length > 0) {
      const turns = this.#turns
      this.#turns = []
      for (const work of turns) work()
    }
  }

  advance(ms: number): void {
    this.advanceTo(this.#now + ms)
  }

  advanceTo(at: number): void {
    this.settle()
    while (this.#runNext(at)) this.settle()
    this.#now = Math.max(this.#now, at)
  }

  /** Moves to the next deadline and runs what is due there; false when no timer is left. */
  advanceToNext(): boolean {
    this.settle()
    const ran = this.#runNext(Number.POSITIVE_INFINITY)
    this.settle()
    return ran
  }

  #runNext(limit: number): boolean {
    const alarm = this.#alarms.takeDue(limit)
    if (!alarm) return false
    this.#now = Math.max(this.#now, alarm.heapAt)
    alarm.work()
    return true
  }
}
