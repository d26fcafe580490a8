import type { Clock } from '../actors/ports.ts'
import { QueueFull } from '../jobs/submission.ts'
import type { JobDesk } from './store/job-store.ts'

export interface DepthGaugeOptions {
  readonly clock: Pick<Clock, 'now'>
  readonly desk: Pick<JobDesk, 'counts'>
  readonly depthMax: number
}

const COUNT_EVERY_MS = 1_000
const RETRY_AFTER_MS = 5_000

/**
 * How many jobs wait, roughly: the last count and everything accepted since. Counting millions takes
 * time, so it is done only when the rough figure says that the queue may be full.
 */
export class DepthGauge {
  readonly #options: DepthGaugeOptions
  #depth = Number.POSITIVE_INFINITY
  #countedAt = Number.NEGATIVE_INFINITY
  #counting: Promise<void> | undefined

  constructor(options: DepthGaugeOptions) {
    this.#options = options
  }

  /** Throws `QueueFull` when there is no room for so many more. */
  async assertRoomFor(jobs: number): Promise<void> {
    const { depthMax } = this.#options
    if (this.#depth + jobs > depthMax) await this.#countOnce()
    if (this.#depth + jobs > depthMax) throw new QueueFull(this.#depth, depthMax, RETRY_AFTER_MS)
    this.#depth += jobs
  }

  /** However many ask at a time. */
  async #countOnce(): Promise<void> {
    if (this.#options.clock.now() - this.#countedAt < COUNT_EVERY_MS) return
    this.#counting ??= this.#count().finally(() => {
      this.#counting = undefined
    })
    await this.#counting
  }

  async #count(): Promise<void> {
    const { clock, desk } = this.#options
    const { queued, scheduled } = (await desk.counts()).live
    this.#depth = queued + scheduled
    this.#countedAt = clock.now()
  }
}
