/**
 * A thing to be done again and again: sweeping, relaying, beating. All have this one shape: they run
 * at their interval, earlier when woken, never twice at a time, and a failure is told and tried
 * again after a growing pause. Notifications are hints; the interval is the truth.
 */
import type { Cancel, Clock } from '../actors/ports.ts'

export interface DutyOptions {
  /** An agent noun: `relay`, `sweeper`. */
  readonly name: string
  readonly everyMs: number
  /** What it has to do now; a number asks to be called again in that many milliseconds. */
  // biome-ignore lint/suspicious/noConfusingVoidType: most duties have nothing to ask for.
  runOnce(at: number): Promise<number | void>
}

export interface DutyWorld {
  readonly clock: Clock
  onFailed(duty: string, error: unknown, failures: number): void
  onRecovered(duty: string): void
}

const FAILURE_PAUSE_MS = 100
const FAILURE_PAUSE_MS_MAX = 5_000

export class Duty {
  readonly #options: DutyOptions
  readonly #world: DutyWorld
  #isStarted = false
  #underWay: Promise<void> | undefined
  #cancel: Cancel | undefined
  #nextAt = Number.POSITIVE_INFINITY
  #isWoken = false
  #failures = 0

  constructor(options: DutyOptions, world: DutyWorld) {
    if (!(options.everyMs > 0)) throw new Error(`Duty '${options.name}' needs an interval.`)
    this.#options = options
    this.#world = world
  }

  get name(): string {
    return this.#options.name
  }

  start(): void {
    if (this.#isStarted) return
    this.#isStarted = true
    this.#failures = 0
    this.wake()
  }

  /** Resolves when nothing of it is under way any more. */
  async stop(): Promise<void> {
    this.#isStarted = false
    this.#disarm()
    await this.#underWay
  }

  /** As soon as possible: at once, or right after the run that is under way. */
  wake(): void {
    if (!this.#isStarted) return
    // A store that does not answer is not to be asked in a loop.
    if (this.#failures > 0) return
    if (this.#underWay) this.#isWoken = true
    else this.#run()
  }

  /** No later than in the given time. */
  wakeIn(ms: number): void {
    this.#armAt(this.#world.clock.now() + ms)
  }

  #run(): void {
    this.#disarm()
    this.#isWoken = false
    this.#underWay = this.#attempt().then((pauseMs) => {
      this.#underWay = undefined
      if (!this.#isStarted) return
      if (this.#isWoken && this.#failures === 0) this.#run()
      else this.wakeIn(pauseMs)
    })
  }

  async #attempt(): Promise<number> {
    const { name, everyMs, runOnce } = this.#options
    try {
      const askedMs = await runOnce(this.#world.clock.now())
      if (this.#failures > 0) this.#world.onRecovered(name)
      this.#failures = 0
      return Math.min(everyMs, askedMs ?? everyMs)
    } catch (error) {
      this.#failures++
      this.#world.onFailed(name, error, this.#failures)
      return Math.min(
        FAILURE_PAUSE_MS * 2 ** Math.min(this.#failures - 1, 10),
        FAILURE_PAUSE_MS_MAX,
      )
    }
  }

  #armAt(at: number): void {
    if (!this.#isStarted || at >= this.#nextAt) return
    this.#disarm()
    this.#nextAt = at
    this.#cancel = this.#world.clock.wakeAt(at, () => {
      this.#disarm()
      if (this.#underWay) this.#isWoken = true
      else this.#run()
    })
  }

  #disarm(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#nextAt = Number.POSITIVE_INFINITY
  }
}
