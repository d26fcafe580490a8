/**
 * Things that come one by one and go in batches: what comes during one turn goes together, and what
 * comes while `flightsMax` batches are under way goes with the next. No delay is added: a batch is
 * as large as the time the one before it took.
 */
import type { Clock } from '../actors/ports.ts'

export interface GatherOptions<T> {
  readonly clock: Pick<Clock, 'soon'>
  readonly itemsMax: number
  readonly flightsMax: number
  /** Never rejects: what became of a batch is its own business. */
  handle(items: readonly T[]): Promise<void>
}

export class Gather<T> {
  readonly #options: GatherOptions<T>
  #waiting: T[] = []
  #flights = 0
  #isArmed = false
  #idleWaiters: (() => void)[] = []

  constructor(options: GatherOptions<T>) {
    this.#options = options
  }

  get size(): number {
    return this.#waiting.length
  }

  push(item: T): void {
    this.#waiting.push(item)
    this.#arm()
  }

  /** Resolves when nothing waits and nothing is under way. */
  async idle(): Promise<void> {
    if (this.#waiting.length === 0 && this.#flights === 0) return
    await new Promise<void>((resolve) => this.#idleWaiters.push(resolve))
  }

  #arm(): void {
    if (this.#isArmed || this.#flights >= this.#options.flightsMax) return
    this.#isArmed = true
    this.#options.clock.soon(() => {
      this.#isArmed = false
      this.#fly()
    })
  }

  #fly(): void {
    const { itemsMax, flightsMax } = this.#options
    while (this.#waiting.length > 0 && this.#flights < flightsMax) {
      const items =
        this.#waiting.length <= itemsMax ? this.#waiting : this.#waiting.slice(0, itemsMax)
      this.#waiting = items === this.#waiting ? [] : this.#waiting.slice(itemsMax)
      this.#flights++
      this.#options.handle(items).then(() => {
        this.#flights--
        if (this.#waiting.length > 0) this.#arm()
        else if (this.#flights === 0) for (const tell of this.#idleWaiters.splice(0)) tell()
      })
    }
  }
}
