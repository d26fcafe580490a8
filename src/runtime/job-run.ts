/**
 * One run of somebody's code: the context it gets, and what became of it. A run that was called off
 * is not heard any more: whatever it returns later, nobody is told.
 */
import type { Clock } from '../actors/ports.ts'
import {
  type AnyJob,
  type JobContext,
  type JobFacts,
  type StepContext,
  StepEvent,
} from '../jobs/define-job.ts'
import { JobOutcome, outcomeOfError, outcomeOfResult, outcomes } from '../jobs/outcome.ts'
import type { Outcome } from '../machines/decision.ts'
import type { HandlerJobCommand } from '../machines/handler-job.ts'
import type { StatesJobCommand } from '../machines/states-job.ts'
import { hasStates } from './job-types.ts'
import type { ClaimedJob } from './store/job-store.ts'

export interface RunWorld {
  readonly clock: Clock
  readonly fetch: typeof globalThis.fetch
  concluded(outcome: Outcome): void
  /** A state was performed and is left by this event. */
  performed(event: { readonly type: string; readonly value: unknown }): void
  checkpoint(value: unknown): Promise<void>
  progress(done: number, total: number | null, note: string): void
  log(message: string, fields: Readonly<Record<string, unknown>>): void
  /** It was called off this long ago and has still not ended. */
  deaf(reason: string): void
}

export const runLimits = {
  /** Of a result, of what a state brought, and of a checkpoint, as JSON. */
  valueBytesMax: 256 * 1024,
  /** After being called off, a run that goes on is reported. */
  deafMs: 5_000,
} as const

export class JobRun {
  readonly #world: RunWorld
  readonly #controller = new AbortController()
  #isOver = false
  #isHeard = true

  constructor(world: RunWorld) {
    this.#world = world
  }

  start(
    definition: AnyJob,
    claimed: ClaimedJob,
    command: HandlerJobCommand | StatesJobCommand,
  ): void {
    let returned: unknown
    try {
      const context = this.#context(claimed, command)
      returned = hasStates(definition)
        ? definition.performers[(command as StatesJobCommand).state]!(
            this.#stepContext(context, command as StatesJobCommand),
          )
        : definition.run(context)
    } catch (error) {
      this.#conclude(outcomeOfError(error))
      return
    }
    const ended = (result: unknown) => {
      if (hasStates(definition)) this.#performed(definition.states, command, result)
      else this.#conclude(outcomeOfResult(result))
    }
    // A handler that has its result at once need not wait for a turn.
    if (isThenable(returned)) returned.then(ended, (error) => this.#conclude(outcomeOfError(error)))
    else ended(returned)
  }

  abort(reason: string): void {
    this.#isHeard = false
    if (this.#isOver) return
    this.#controller.abort(new Error(`The job was stopped: ${reason}.`))
    const { clock } = this.#world
    clock.wakeAt(clock.now() + runLimits.deafMs, () => {
      if (!this.#isOver) this.#world.deaf(reason)
    })
  }

  #conclude(outcome: Outcome): void {
    this.#isOver = true
    if (this.#isHeard) this.#world.concluded(outcome)
  }

  #performed(
    states: Readonly<Record<string, { readonly on?: Readonly<Record<string, string>> }>>,
    command: HandlerJobCommand | StatesJobCommand,
    result: unknown,
  ): void {
    if (result instanceof JobOutcome) {
      this.#conclude(result.outcome)
      return
    }
    const event = result instanceof StepEvent ? result : new StepEvent('PERFORMED', result)
    const { state } = command as StatesJobCommand
    const known = Object.keys(states[state]?.on ?? { PERFORMED: '' })
    const problem = known.includes(event.type)
      ? valueProblem(event.value)
      : `The state '${state}' knows no event '${event.type}', only ${known.join(', ')}.`
    if (problem !== undefined) this.#conclude(refused('state.invalid', problem))
    else {
      this.#isOver = true
      if (this.#isHeard) this.#world.performed({ type: event.type, value: event.value ?? null })
    }
  }

  #context(claimed: ClaimedJob, command: HandlerJobCommand | StatesJobCommand): JobContext {
    const world = this.#world
    const ifHeard =
      <A extends unknown[]>(tell: (...args: A) => void) =>
      (...args: A) => {
        if (this.#isHeard && !this.#isOver) tell(...args)
      }
    return {
      ...outcomes,
      job: factsOf(claimed, command.attempt),
      body: JSON.parse(claimed.body),
      signal: this.#controller.signal,
      fetch: (input, init) =>
        world.fetch(input, { ...init, signal: bothSignals(this.#controller.signal, init?.signal) }),
      checkpointed: command.checkpoint ?? undefined,
      checkpoint: async (value) => {
        const problem = valueProblem(value)
        if (problem !== undefined) throw new Error(`This cannot be a checkpoint: ${problem}`)
        this.#controller.signal.throwIfAborted()
        if (!this.#isOver) await world.checkpoint(value)
      },
      now: () => Math.floor(world.clock.now()),
      progress: ifHeard((done: number, total: number | null = null, note = '') =>
        world.progress(done, total, note),
      ),
      log: ifHeard((message: string, fields: Readonly<Record<string, unknown>> = {}) =>
        world.log(message, fields),
      ),
    }
  }

  #stepContext(context: JobContext, { work }: StatesJobCommand): StepContext {
    return { ...context, work, event: (type, value) => new StepEvent(type, value) }
  }
}

/** As the store keeps it, or undefined where that is impossible. */
export function resultText(result: unknown): string | undefined {
  if (result === undefined) return 'null'
  return valueProblem(result) === undefined ? JSON.stringify(result) : undefined
}

/** Why this cannot be kept, in words. */
export function valueProblem(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    return `it is not JSON (${error instanceof Error ? error.message : error}).`
  }
  if (text === undefined) return `it is not JSON (${typeof value}).`
  const { valueBytesMax } = runLimits
  return text.length * 3 > valueBytesMax && Buffer.byteLength(text) > valueBytesMax
    ? `it has ${Buffer.byteLength(text)} bytes of at most ${valueBytesMax}; store the data elsewhere and keep a reference.`
    : undefined
}

function refused(code: string, message: string): Outcome {
  return { kind: 'reject', error: { code, message } }
}

function factsOf(claimed: ClaimedJob, attempt: number): JobFacts {
  const { id, type, version, key, domain, attemptsMax, taskId, traceId, spanId } = claimed
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
    traceId,
    spanId,
  }
}

function bothSignals(ours: AbortSignal, theirs: AbortSignal | null | undefined): AbortSignal {
  return theirs ? AbortSignal.any([ours, theirs]) : ours
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value
}
