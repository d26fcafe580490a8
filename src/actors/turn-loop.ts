import { BoundedQueue } from './bounded-queue.ts'
import type { Cell } from './cell.ts'
import type { Cancel, Clock } from './ports.ts'
import { TimerHeap } from './timer-heap.ts'

export interface TurnLoopOptions {
  readonly clock: Clock
  /** Events one actor may handle before the next has its turn. */
  readonly fairShareEventsMax: number
  /** Events in one turn before input and output have theirs. */
  readonly turnEventsMax: number
  /** Handles one event of the cell; false when there is nothing for it to do now. */
  handleNext(cell: Cell): boolean
  /** The instant the cell was to be woken at has come. */
  onAlarm(cell: Cell): void
  onTurnEnd(): void
}

/** Who has something to do, and who wants to be woken when: fair, bounded turns and one alarm. */
export class TurnLoop {
  readonly #options: TurnLoopOptions
  readonly #ready = new BoundedQueue<Cell>(Number.POSITIVE_INFINITY)
  readonly #timers = new TimerHeap<Cell>()
  #isTurnPlanned = false
  #isHalted = false
  #alarm: { readonly at: number; readonly cancel: Cancel } | undefined

  constructor(options: TurnLoopOptions) {
    this.#options = options
  }

  get isQuiet(): boolean {
    return this.#ready.size === 0
  }

  enqueue(cell: Cell): void {
    if (this.#isHalted) return
    if (!cell.isQueued) {
      cell.isQueued = true
      this.#ready.push(cell)
    }
    this.#planTurn()
  }

  /** Replaces the cell's alarm; null takes it away. */
  setAlarm(cell: Cell, at: number | null): void {
    if (at === null) this.#timers.clear(cell)
    else {
      this.#timers.set(cell, at)
      this.#arm()
    }
  }

  /** Works until nobody has anything to do. */
  drain(): void {
    while (this.#ready.size > 0) this.#turn()
  }

  halt(): void {
    this.#isHalted = true
    this.#alarm?.cancel()
    this.#alarm = undefined
    this.#ready.takeAll()
  }

  #planTurn(): void {
    if (this.#isTurnPlanned || this.#isHalted) return
    this.#isTurnPlanned = true
    this.#options.clock.soon(() => {
      this.#isTurnPlanned = false
      if (!this.#isHalted) this.#turn()
    })
  }

  #turn(): void {
    const { fairShareEventsMax, turnEventsMax, handleNext } = this.#options
    let events = 0
    while (events < turnEventsMax) {
      const cell = this.#ready.shift()
      if (!cell) break
      cell.isQueued = false
      let share = 0
      while (share < fairShareEventsMax && !this.#isHalted && handleNext(cell)) share++
      events += share + 1
      if (share === fairShareEventsMax) this.enqueue(cell)
    }
    this.#options.onTurnEnd()
    if (this.#ready.size > 0) this.#planTurn()
  }

  #arm(): void {
    const at = this.#timers.nextAt
    if (at === undefined || this.#isHalted || (this.#alarm && this.#alarm.at <= at)) return
    this.#alarm?.cancel()
    this.#alarm = { at, cancel: this.#options.clock.wakeAt(at, () => this.#ring()) }
  }

  #ring(): void {
    this.#alarm = undefined
    const now = this.#options.clock.now()
    for (;;) {
      const cell = this.#timers.takeDue(now)
      if (!cell) break
      this.#options.onAlarm(cell)
    }
    this.#arm()
  }
}
