/**
 * Carries what running jobs have to tell the store, in batches. While the store cannot be reached
 * everything waits and is repeated with a growing pause; the answer comes when the store has one.
 */
import type { Clock } from '../actors/ports.ts'
import type { TypedEvents } from '../actors/typed-events.ts'
import { Gather } from './gather.ts'
import type { RuntimeEventMap } from './runtime-events.ts'
import {
  type JobNote,
  type JobQueue,
  type Settlement,
  type SettleVerdict,
  StoreUnavailable,
} from './store/job-store.ts'

export interface SettlerOptions {
  readonly clock: Clock
  readonly queue: JobQueue
  readonly nodeId: string
  readonly events: TypedEvents<RuntimeEventMap>
}

interface Told<T, V> {
  readonly what: T
  answered(verdict: V): void
}

const BATCH_MAX = 1_000
const PAUSE_MS = 100
const PAUSE_MS_MAX = 2_000
/** What the store does not take, though it is there, is given up after so many tries. */
const REFUSALS_MAX = 5

export class Settler {
  readonly #options: SettlerOptions
  readonly #settlements: Gather<Told<Settlement, SettleVerdict>>
  readonly #notes: Gather<Told<JobNote, 'noted' | 'lost'>>
  #isClosed = false

  constructor(options: SettlerOptions) {
    this.#options = options
    const { clock, queue, nodeId } = options
    this.#settlements = new Gather({
      clock,
      itemsMax: BATCH_MAX,
      flightsMax: 2,
      handle: (items) => this.#carry('settler', items, (batch) => queue.settle(nodeId, batch)),
    })
    this.#notes = new Gather({
      clock,
      itemsMax: BATCH_MAX,
      flightsMax: 1,
      handle: (items) => this.#carry('noter', items, (batch) => queue.note(batch)),
    })
  }

  settle(what: Settlement, answered: (verdict: SettleVerdict) => void): void {
    this.#settlements.push({ what, answered })
  }

  note(what: JobNote, answered: (verdict: 'noted' | 'lost') => void): void {
    this.#notes.push({ what, answered })
  }

  async idle(): Promise<void> {
    await Promise.all([this.#settlements.idle(), this.#notes.idle()])
  }

  /** What could not be told by now stays untold: the leases will end. */
  close(): void {
    this.#isClosed = true
  }

  async #carry<T, V>(
    duty: string,
    items: readonly Told<T, V | 'lost'>[],
    send: (batch: T[]) => Promise<readonly V[]>,
  ): Promise<void> {
    const batch = items.map(({ what }) => what)
    const verdicts = await this.#repeat(duty, () => send(batch))
    // One of them cannot be written: it must not keep the others.
    if (verdicts === 'refused' && items.length > 1)
      await Promise.all(items.map((item) => this.#carry(duty, [item], send)))
    else if (verdicts !== 'untold')
      items.forEach(({ answered }, index) => {
        answered(verdicts === 'refused' ? 'lost' : verdicts[index]!)
      })
  }

  async #repeat<V>(duty: string, send: () => Promise<V>): Promise<V | 'refused' | 'untold'> {
    let refusals = 0
    for (let failures = 0; !this.#isClosed; failures++) {
      try {
        const verdicts = await send()
        if (failures > 0) this.#tell('duty.recovered', duty)
        return verdicts
      } catch (error) {
        this.#tellFailed(duty, error, failures + 1)
        if (!(error instanceof StoreUnavailable) && ++refusals === REFUSALS_MAX) return 'refused'
        await this.#pause(Math.min(PAUSE_MS * 2 ** failures, PAUSE_MS_MAX))
      }
    }
    return 'untold'
  }

  #pause(ms: number): Promise<void> {
    const { clock } = this.#options
    return new Promise((done) => clock.wakeAt(clock.now() + ms, done))
  }

  #tell(name: 'duty.recovered', duty: string): void {
    this.#options.events.emit(name, () => ({ at: this.#options.clock.now(), duty }))
  }

  #tellFailed(duty: string, error: unknown, failures: number): void {
    const at = this.#options.clock.now()
    this.#options.events.emit('duty.failed', () => ({ at, duty, failures, error }))
  }
}
