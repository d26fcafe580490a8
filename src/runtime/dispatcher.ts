/**
 * Where jobs come in: a submission is checked, made into a complete job, and written together with
 * whatever else is being submitted in the same moment. An answer means that it is on the disk.
 */
import type { Clock } from '../actors/ports.ts'
import {
  type JobDispatcher,
  type Submission,
  type SubmissionReceipt,
  SubmissionRefused,
  submissionLimits,
} from '../jobs/submission.ts'
import { normalizeHost } from '../machines/domain.ts'
import type { DepthGauge } from './depth-gauge.ts'
import { Gather } from './gather.ts'
import type { MakeJobId } from './job-id.ts'
import type { JobTypes, RegisteredType } from './job-types.ts'
import type { JobIntake, NewJob, OutboxRow, Receipt } from './store/job-store.ts'

export interface DispatcherOptions {
  readonly clock: Clock
  readonly intake: JobIntake
  readonly types: JobTypes
  readonly makeId: MakeJobId
  readonly depth: DepthGauge
  onAccepted(receipts: readonly Receipt[]): void
}

interface Delivery {
  readonly jobs: readonly NewJob[]
  resolve(receipts: readonly Receipt[]): void
  reject(error: unknown): void
}

const DELIVERIES_MAX = 1_000

export class Dispatcher implements JobDispatcher {
  readonly #options: DispatcherOptions
  readonly #deliveries: Gather<Delivery>

  constructor(options: DispatcherOptions) {
    this.#options = options
    this.#deliveries = new Gather({
      clock: options.clock,
      itemsMax: DELIVERIES_MAX,
      flightsMax: 2,
      handle: (deliveries) => this.#deliver(deliveries),
    })
  }

  async submit(submission: Submission): Promise<SubmissionReceipt> {
    const [receipt] = await this.submitMany([submission])
    return receipt!
  }

  async submitMany(submissions: readonly Submission[]): Promise<readonly SubmissionReceipt[]> {
    const { batchJobsMax } = submissionLimits
    if (submissions.length > batchJobsMax)
      throw new SubmissionRefused([
        { index: batchJobsMax, message: `A batch has at most ${batchJobsMax} jobs: send several.` },
      ])
    const problems: { index: number; message: string }[] = []
    const jobs = submissions.map((submission, index) => {
      const job = this.read(submission)
      if ('refusal' in job) problems.push({ index, message: job.refusal })
      return job
    })
    if (problems.length > 0) throw new SubmissionRefused(problems)
    if (jobs.length === 0) return []
    await this.#options.depth.assertRoomFor(jobs.length)
    return new Promise((resolve, reject) => {
      this.#deliveries.push({ jobs: jobs as NewJob[], resolve, reject })
    })
  }

  /** Makes a job of what was handed in, or says in words what is wrong with it. */
  read(submission: Submission): NewJob | { readonly refusal: string } {
    const { types, makeId } = this.#options
    const type = types.get(submission?.type)
    if (!type) return { refusal: unknownType(submission?.type, types.names) }
    const refusal = refusalOf(submission, type)
    if (refusal !== undefined) return { refusal }
    const body = bodyText(submission.body)
    if (typeof body === 'object') return body
    const domain = domainOf(submission, type)
    if (typeof domain === 'object') return domain
    return {
      id: makeId(),
      type: type.type,
      version: type.version,
      body,
      key: submission.key ?? null,
      domain,
      priority: submission.priority ?? 0,
      runAt: submission.runAt === undefined ? null : Math.floor(Number(submission.runAt)),
      attemptsMax: submission.attemptsMax ?? type.attemptsMax,
      taskId: submission.taskId ?? null,
      traceId: submission.tracing?.traceId ?? null,
      spanId: submission.tracing?.spanId ?? null,
    }
  }

  /** The same for a row of the outbox, which anybody may have written. */
  readonly readOutboxRow = (row: OutboxRow): NewJob | { readonly refusal: string } => {
    let body: unknown
    try {
      body = JSON.parse(row.body)
    } catch {
      return { refusal: 'The body is not JSON: correct it, and set refusal to null.' }
    }
    const { type, key, domain, priority, runAt, attemptsMax, taskId } = row
    return this.read({
      type,
      body,
      key: key ?? undefined,
      domain: domain ?? undefined,
      priority: priority ?? undefined,
      runAt: runAt ?? undefined,
      attemptsMax: attemptsMax ?? undefined,
      taskId: taskId ?? undefined,
    })
  }

  idle(): Promise<void> {
    return this.#deliveries.idle()
  }

  async #deliver(deliveries: readonly Delivery[]): Promise<void> {
    try {
      const receipts = await this.#options.intake.add(deliveries.flatMap(({ jobs }) => jobs))
      let taken = 0
      for (const { jobs, resolve } of deliveries) {
        resolve(receipts.slice(taken, taken + jobs.length))
        taken += jobs.length
      }
      this.#options.onAccepted(receipts)
    } catch (error) {
      for (const { reject } of deliveries) reject(error)
    }
  }
}

function unknownType(type: unknown, known: readonly string[]): string {
  const named = typeof type === 'string' ? `There is no job type "${type}"` : 'A job needs a type'
  return `${named}: use one of ${known.join(', ') || '(none is loaded)'}, or load more with --jobs.`
}

/** The first thing that is wrong with it, in words. */
function refusalOf(submission: Submission, { type, check }: RegisteredType): string | undefined {
  const { key, priority, runAt, attemptsMax, taskId, tracing, body } = submission
  const { keyCharsMax, priorityMax } = submissionLimits
  if (key !== undefined && !isText(key, keyCharsMax))
    return `key must be a text of 1 to ${keyCharsMax} characters.`
  if (taskId !== undefined && !isText(taskId, keyCharsMax))
    return `taskId must be a text of 1 to ${keyCharsMax} characters.`
  if (priority !== undefined && !isWhole(priority, -priorityMax, priorityMax))
    return `priority must be a whole number from ${-priorityMax} to ${priorityMax}; lower goes first.`
  if (attemptsMax !== undefined && !isWhole(attemptsMax, 1, submissionLimits.attemptsMax))
    return `attemptsMax must be a whole number from 1 to ${submissionLimits.attemptsMax}.`
  if (runAt !== undefined && !isWhole(Math.floor(Number(runAt)), 0, 8.64e15))
    return 'runAt must be a time: a Date or milliseconds since 1970.'
  if (tracing !== undefined && !isTracing(tracing))
    return 'tracing must have a traceId and a spanId, texts of 1 to 64 characters.'
  const problems = check(body)
  return problems.length > 0
    ? `The body does not fit "${type}": ${problems.join('; ')}.`
    : undefined
}

function bodyText(body: unknown): string | { readonly refusal: string } {
  let text: string | undefined
  try {
    text = JSON.stringify(body ?? null)
  } catch {
    // Circular, a BigInt, or nested deeper than the stack.
  }
  if (text === undefined) return { refusal: 'The body must be JSON.' }
  const { bodyBytesMax } = submissionLimits
  // A character is at most three bytes, so most need not be counted.
  if (text.length * 3 > bodyBytesMax && Buffer.byteLength(text) > bodyBytesMax)
    return {
      refusal: `The body has ${Buffer.byteLength(text)} bytes of at most ${bodyBytesMax}: send a reference to the data instead of the data.`,
    }
  return text
}

function domainOf(
  submission: Submission,
  { definition }: RegisteredType,
): string | { readonly refusal: string } {
  let given = submission.domain
  if (given === undefined) {
    try {
      given = definition.domain?.(submission.body)
    } catch (error) {
      return {
        refusal: `The body names no server: ${error instanceof Error ? error.message : error}`,
      }
    }
  }
  if (given === undefined || given === '') return ''
  const domain = typeof given === 'string' ? normalizeHost(given) : undefined
  if (domain === undefined || domain.length > submissionLimits.domainCharsMax)
    return { refusal: `"${given}" is not the name of a server, such as example.org.` }
  return domain
}

function isText(value: unknown, charsMax: number): boolean {
  return (
    typeof value === 'string' &&
    value.length > 0 &&
    value.length <= charsMax &&
    value.isWellFormed() &&
    !value.includes('\0')
  )
}

function isTracing(tracing: Partial<NonNullable<Submission['tracing']>> | null): boolean {
  return isText(tracing?.traceId, 64) && isText(tracing?.spanId, 64)
}

function isWhole(value: unknown, min: number, max: number): boolean {
  return Number.isInteger(value) && (value as number) >= min && (value as number) <= max
}
