import { type JobFacts, type StepContext, StepEvent } from '../jobs/define-job.ts'
import { type Outcomes, outcomes } from '../jobs/outcome.ts'
import type { HandlerJobCommand } from '../machines/handler-job.ts'
import type { StatesJobCommand } from '../machines/states-job.ts'
import { valueProblem, valueText } from './job-value.ts'
import type { ClaimedJob } from './store/job-store.ts'
import { tracingOf } from './tracing.ts'

/** The run as its context needs it. */
export interface ContextSource {
  readonly claimed: ClaimedJob
  readonly command: HandlerJobCommand | StatesJobCommand
  readonly signal: AbortSignal
  /** It has neither ended nor been called off. */
  readonly isHeard: boolean
  readonly fetch: typeof globalThis.fetch
  now(): number
  checkpoint(value: unknown): Promise<void>
  progress(done: number, total: number | null, note: string): void
  log(message: string, fields: Readonly<Record<string, unknown>>): void
}

const NOTE_CHARS_MAX = 1_000

/**
 * What somebody's code gets. Everything is made when it is first asked for: most handlers use a few
 * of these, and an AbortSignal alone costs more than a step of the job's machine. They are getters,
 * so that a handler may take them apart: `run({ body, fetch, signal })`.
 */
export class RunContext implements StepContext {
  readonly #source: ContextSource
  #body: unknown

  constructor(source: ContextSource) {
    this.#source = source
  }

  get body(): unknown {
    this.#body ??= JSON.parse(this.#source.claimed.body)
    return this.#body
  }

  get job(): JobFacts {
    const { claimed, command } = this.#source
    const { id, type, version, key, domain, attemptsMax, taskId } = claimed
    const { attempt } = command
    const createdAt = new Date(claimed.createdAt)
    return {
      id,
      type,
      version,
      key,
      domain,
      attempt,
      attemptsMax,
      createdAt,
      taskId,
      ...tracingOf(claimed),
    }
  }

  get signal(): AbortSignal {
    return this.#source.signal
  }

  get checkpointed(): unknown {
    return own(this.#source.command.checkpoint ?? undefined)
  }

  get work(): Readonly<Record<string, unknown>> {
    const { command } = this.#source
    return 'work' in command ? own(command.work) : {}
  }

  get fetch(): typeof globalThis.fetch {
    const { signal, fetch } = this.#source
    return (input, init) => {
      const theirs = init?.signal ?? (input instanceof Request ? input.signal : undefined)
      return fetch(input, { ...init, signal: theirs ? AbortSignal.any([signal, theirs]) : signal })
    }
  }

  get checkpoint(): StepContext['checkpoint'] {
    return async (value) => {
      const problem = valueProblem(value)
      if (problem !== undefined) throw new Error(`This cannot be a checkpoint: ${problem}`)
      this.#source.signal.throwIfAborted()
      // As it is now, and as it will come back from the disk.
      if (this.#source.isHeard) await this.#source.checkpoint(JSON.parse(valueText(value)))
    }
  }

  get progress(): StepContext['progress'] {
    return (done, total = null, note = '') => {
      if (!this.#source.isHeard) return
      const words = String(note).slice(0, NOTE_CHARS_MAX)
      this.#source.progress(Number(done), total === null ? null : Number(total), words)
    }
  }

  get log(): StepContext['log'] {
    return (message, fields = {}) => {
      if (this.#source.isHeard) this.#source.log(message, fields)
    }
  }

  get now(): StepContext['now'] {
    return () => this.#source.now()
  }

  get event(): StepContext['event'] {
    return (type, value) => new StepEvent(type, value)
  }

  get skip(): Outcomes['skip'] {
    return outcomes.skip
  }

  get retry(): Outcomes['retry'] {
    return outcomes.retry
  }

  get wait(): Outcomes['wait'] {
    return outcomes.wait
  }

  get reject(): Outcomes['reject'] {
    return outcomes.reject
  }
}

/** A copy: what a handler does to it must not reach the machine's own. */
function own<T>(value: T): T {
  return typeof value === 'object' ? structuredClone(value) : value
}
