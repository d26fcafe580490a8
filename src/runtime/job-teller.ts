import type { Clock } from '../actors/ports.ts'
import type { TypedEvents } from '../actors/typed-events.ts'
import type { RuntimeEventMap } from './runtime-events.ts'
import type { ClaimedJob } from './store/job-store.ts'

type About = 'id' | 'type' | 'domain' | 'attempt' | 'fence' | 'at'

/** The events that are about one job. */
type JobEventName = {
  [N in keyof RuntimeEventMap]: About extends keyof RuntimeEventMap[N] ? N : never
}[keyof RuntimeEventMap]

export interface ToldJob {
  readonly claimed: ClaimedJob
  readonly attempt: number
}

/** Tells what happens to a job, with what everybody wants to know about it. */
export class JobTeller {
  readonly #clock: Pick<Clock, 'now'>
  readonly #events: TypedEvents<RuntimeEventMap>

  constructor(clock: Pick<Clock, 'now'>, events: TypedEvents<RuntimeEventMap>) {
    this.#clock = clock
    this.#events = events
  }

  /** `more` is asked only when somebody listens. */
  tell<N extends JobEventName>(
    name: N,
    { claimed, attempt }: ToldJob,
    more: () => Omit<RuntimeEventMap[N], About>,
  ): void {
    this.#events.emit(name, () => {
      const { id, type, domain, fence } = claimed
      const at = this.#clock.now()
      return { id, type, domain, attempt, fence, at, ...more() } as unknown as RuntimeEventMap[N]
    })
  }
}
