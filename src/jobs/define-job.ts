/**
 * What a job type is: a plain object that says how one of its jobs is done. `defineJob` adds types
 * and nothing else, so a file of definitions needs no import.
 */
import type { BackoffPolicy } from '../machines/backoff.ts'
import type { JobOutcome, Outcomes } from './outcome.ts'

export interface JobType<Body> {
  /** Dotted words, such as `entity.match`. */
  readonly type: string
  readonly version: string
  /** JSON Schema of the body, or any Standard Schema (zod, valibot, …). Without it any JSON will do. */
  readonly schema?: BodySchema<Body>
  readonly description?: string
  /** The server a job will call: jobs of one domain take turns with those of others. */
  readonly domain?: (body: Body) => string | undefined
  readonly attemptsMax?: number
  /** An attempt that takes longer is aborted and counts as failed. */
  readonly attemptMsMax?: number
  readonly backoff?: BackoffPolicy
}

/** One function does the work. */
export interface HandlerJob<Body = unknown, Result = unknown>
  extends JobType<Body>,
    JobHandler<Body, Result> {}

export interface JobHandler<Body = unknown, Result = unknown> {
  /** What it returns is the result, unless it is one of the outcomes of its context. */
  run(context: JobContext<Body>): Result | JobOutcome | Promise<Result | JobOutcome>
}

/**
 * Several steps, each a state of the job's statechart. A job that is killed goes on with the step
 * it was in: what earlier ones brought is kept in `work`, and they are not repeated.
 */
export interface StatesJob<Body = unknown> extends JobType<Body> {
  /** The first one is where a job begins. */
  readonly states: Readonly<Record<string, JobStep>>
  readonly performers: Readonly<Record<string, JobPerformer<Body>>>
}

export interface JobStep {
  readonly description: string
  /** Event → the state that follows. Without it, performing this state ends the job. */
  readonly on?: Readonly<Record<string, string>>
}

/** What it returns is kept as `work[<state>]`; the event is PERFORMED unless it names another. */
export type JobPerformer<Body = unknown> = (
  context: StepContext<Body>,
) => unknown | Promise<unknown>

export interface JobContext<Body = unknown> extends Outcomes {
  readonly job: JobFacts
  readonly body: Body
  /** Aborts when the job is cancelled, takes too long, loses its lease or its process stops. */
  readonly signal: AbortSignal
  /** Calls other people's servers. */
  readonly fetch: typeof globalThis.fetch
  /** What this job last handed to `checkpoint`, in this process or an earlier one. */
  readonly checkpointed: unknown
  /**
   * When it resolves, the value is safe: a restarted job gets it back as `checkpointed`. Only while
   * the store of snapshots is away it resolves without: then the work goes on, and a restart would
   * begin further back.
   */
  checkpoint(value: unknown): Promise<void>
  /** Milliseconds since the epoch. */
  now(): number
  progress(done: number, total?: number | null, note?: string): void
  log(message: string, fields?: Readonly<Record<string, unknown>>): void
}

export interface StepContext<Body = unknown> extends JobContext<Body> {
  /** What earlier states brought, by their names. */
  readonly work: Readonly<Record<string, unknown>>
  /** Leaves the state by another event than PERFORMED. */
  event(type: string, value?: unknown): StepEvent
}

export class StepEvent {
  readonly type: string
  readonly value: unknown

  constructor(type: string, value: unknown) {
    this.type = type
    this.value = value
  }
}

export interface JobFacts {
  readonly id: string
  readonly type: string
  readonly version: string
  readonly key: string | null
  readonly domain: string
  readonly attempt: number
  readonly attemptsMax: number
  readonly createdAt: Date
  readonly taskId: string | null
  readonly traceId: string
  readonly spanId: string
}

/** The part of https://standardschema.dev that is needed to check a body. */
export interface StandardSchema<Output> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    validate(value: unknown): StandardResult<Output> | Promise<StandardResult<Output>>
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
  }
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

export interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

export type BodySchema<Body> = StandardSchema<Body> | Readonly<Record<string, unknown>>

// biome-ignore lint/suspicious/noExplicitAny: a list of jobs holds jobs of any body.
export type AnyJob = HandlerJob<any, any> | StatesJob<any>

export function defineJob<Body = unknown, Result = unknown>(
  job: HandlerJob<Body, Result>,
): HandlerJob<Body, Result>
export function defineJob<Body = unknown>(job: StatesJob<Body>): StatesJob<Body>
export function defineJob(job: AnyJob): AnyJob {
  return job
}
