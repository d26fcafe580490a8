/**
 * One run of somebody's code, and what became of it. A run that was called off is not heard any
 * more: whatever it returns later, nobody is told.
 */
import type { Cancel, Clock } from '../actors/ports.ts'
import { type AnyJob, StepEvent } from '../jobs/define-job.ts'
import { JobOutcome, outcomeOfError, outcomeOfResult } from '../jobs/outcome.ts'
import type { Outcome } from '../machines/decision.ts'
import type { HandlerJobCommand } from '../machines/handler-job.ts'
import type { StatesJobCommand } from '../machines/states-job.ts'
import { hasStates } from './job-types.ts'
import { valueProblem } from './job-value.ts'
import { type ContextSource, RunContext } from './run-context.ts'
import type { ClaimedJob } from './store/job-store.ts'

/** Whom a run tells what, and what it is lent. */
export interface RunWorld {
  readonly clock: Clock
  readonly fetch: typeof globalThis.fetch
  concluded(run: JobRun, outcome: Outcome): void
  /** A state was performed and is left by this event. */
  performed(run: JobRun, event: { readonly type: string; readonly value: unknown }): void
  checkpoint(run: JobRun, value: unknown): Promise<void>
  progress(run: JobRun, done: number, total: number | null, note: string): void
  log(run: JobRun, message: string, fields: Readonly<Record<string, unknown>>): void
  /** It was called off a while ago and has still not ended. */
  deaf(run: JobRun, reason: string): void
}

/** After being called off, a run that goes on for this long is reported. */
const DEAF_MS = 5_000

export class JobRun implements ContextSource {
  readonly claimed: ClaimedJob
  readonly command: HandlerJobCommand | StatesJobCommand
  readonly #world: RunWorld
  #state: 'running' | 'calledOff' | 'over' = 'running'
  #controller: AbortController | undefined
  #forgive: Cancel | undefined

  constructor(world: RunWorld, claimed: ClaimedJob, command: HandlerJobCommand | StatesJobCommand) {
    this.#world = world
    this.claimed = claimed
    this.command = command
  }

  start(definition: AnyJob): void {
    let returned: unknown
    try {
      const context = new RunContext(this)
      returned = hasStates(definition)
        ? definition.performers[(this.command as StatesJobCommand).state]!(context)
        : definition.run(context)
    } catch (error) {
      this.#conclude(outcomeOfError(error))
      return
    }
    if (isThenable(returned))
      Promise.resolve(returned).then(
        (result) => this.#ended(definition, result),
        (error) => this.#conclude(outcomeOfError(error)),
      )
    // A handler that has its result at once need not wait for a turn.
    else this.#ended(definition, returned)
  }

  /** One that does not end is reported, unless the process itself is about to. */
  abort(reason: string, isReported = true): void {
    if (this.#state !== 'running') return
    this.#state = 'calledOff'
    this.#controller?.abort(new Error(`The job was stopped: ${reason}.`))
    if (!isReported) return
    const { clock } = this.#world
    this.#forgive = clock.wakeAt(clock.now() + DEAF_MS, () => this.#world.deaf(this, reason))
  }

  // ── for its context ─────────────────────────────────────────────────────────────────────────

  get isHeard(): boolean {
    return this.#state === 'running'
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#state === 'calledOff') this.#controller.abort(new Error('The job was stopped.'))
    }
    return this.#controller.signal
  }

  get fetch(): typeof globalThis.fetch {
    return this.#world.fetch
  }

  now(): number {
    return Math.floor(this.#world.clock.now())
  }

  checkpoint(value: unknown): Promise<void> {
    return this.#world.checkpoint(this, value)
  }

  progress(done: number, total: number | null, note: string): void {
    this.#world.progress(this, done, total, note)
  }

  log(message: string, fields: Readonly<Record<string, unknown>>): void {
    this.#world.log(this, message, fields)
  }

  // ── ending ──────────────────────────────────────────────────────────────────────────────────

  #ended(definition: AnyJob, result: unknown): void {
    if (!hasStates(definition)) this.#conclude(outcomeOfResult(result))
    else if (result instanceof JobOutcome) this.#conclude(result.outcome)
    else {
      const { state } = this.command as StatesJobCommand
      const event = result instanceof StepEvent ? result : new StepEvent('PERFORMED', result)
      this.#performed(event, state, Object.keys(definition.states[state]?.on ?? { PERFORMED: '' }))
    }
  }

  #performed({ type, value }: StepEvent, state: string, known: readonly string[]): void {
    const problem = known.includes(type)
      ? valueProblem(value)
      : `it is left by the event '${type}', and knows only ${known.join(', ')}.`
    if (problem !== undefined) {
      const message = `What the state '${state}' brought cannot be used: ${problem}`
      this.#conclude({ kind: 'reject', error: { code: 'state.invalid', message } })
    } else if (this.#end()) this.#world.performed(this, { type, value: value ?? null })
  }

  #conclude(outcome: Outcome): void {
    if (this.#end()) this.#world.concluded(this, kept(outcome))
  }

  /** True when somebody wants to know. */
  #end(): boolean {
    const wasHeard = this.isHeard
    this.#state = 'over'
    this.#forgive?.()
    return wasHeard
  }
}

/** A result that cannot be kept is no result. */
function kept(outcome: Outcome): Outcome {
  const problem = outcome.kind === 'done' ? valueProblem(outcome.result) : undefined
  if (problem === undefined) return outcome
  const message = `The result cannot be kept: ${problem}`
  return { kind: 'reject', error: { code: 'result.invalid', message } }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    'then' in value &&
    typeof value.then === 'function'
  )
}
