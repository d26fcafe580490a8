import type { Outcome } from '../machines/decision.ts'

/**
 * An outcome other than a plain result, as a handler returns or throws it. A class of its own, so
 * that no result can be mistaken for one.
 */
export class JobOutcome {
  readonly outcome: Outcome

  constructor(outcome: Outcome) {
    this.outcome = outcome
  }
}

/** The ways to end that are not a result; handed to every handler with its context. */
export interface Outcomes {
  /** There is nothing to do: what it was for is gone, or done already. */
  skip(reason: string): JobOutcome
  /** Costs an attempt. `afterMs` is a lower bound, such as a Retry-After. */
  retry(error: Failure, options?: { readonly afterMs?: number }): JobOutcome
  /** Costs no attempt: the job is parked in the queue until then. */
  wait(until: Date | number, reason: string): JobOutcome
  /** It cannot succeed, however often it is tried. */
  reject(error: Failure): JobOutcome
}

export type Failure = string | Error | { readonly code: string; readonly message: string }

export const outcomes: Outcomes = {
  skip: (reason) => new JobOutcome({ kind: 'skipped', reason: clipped(reason) }),
  retry: (error, { afterMs = 0 } = {}) =>
    new JobOutcome({
      kind: 'retry',
      error: jobError(error),
      afterMs: checkedMs('afterMs', afterMs),
    }),
  wait: (until, reason) =>
    new JobOutcome({ kind: 'wait', until: checkedMs('until', until), reason: clipped(reason) }),
  reject: (error) => new JobOutcome({ kind: 'reject', error: jobError(error) }),
}

/** What a handler returned. */
export function outcomeOfResult(result: unknown): Outcome {
  return result instanceof JobOutcome ? result.outcome : { kind: 'done', result }
}

/** What a handler threw, which may be anything. */
export function outcomeOfError(thrown: unknown): Outcome {
  if (thrown instanceof JobOutcome) return thrown.outcome
  return { kind: 'retry', error: jobError(thrown) }
}

const MESSAGE_CHARS_MAX = 2_000
const CODE_CHARS_MAX = 100
const CAUSES_MAX = 5
/** The last instant a date can hold. */
const INSTANT_MS_MAX = 8.64e15

function jobError(failure: unknown): { code: string; message: string } {
  const code = codeOf(failure, CAUSES_MAX) ?? 'job.failed'
  return { code: code.slice(0, CODE_CHARS_MAX), message: clipped(messageOf(failure)) }
}

/** Node's errors and many libraries' carry a stable code; fetch hides it in the cause. */
function codeOf(failure: unknown, causesMax: number): string | undefined {
  if (typeof failure !== 'object' || failure === null) return undefined
  const { code, cause } = failure as { code?: unknown; cause?: unknown }
  if (typeof code === 'string' && code !== '') return code
  return causesMax > 0 && cause instanceof Error ? codeOf(cause, causesMax - 1) : undefined
}

function messageOf(failure: unknown): unknown {
  if (typeof failure !== 'object' || failure === null || !('message' in failure)) return failure
  const message = clipped(failure.message)
  const cause =
    'cause' in failure && failure.cause instanceof Error ? clipped(failure.cause.message) : ''
  return cause && !message.includes(cause) ? `${message}: ${cause}` : message
}

/** The store takes whole milliseconds; anything else would be found out when it is too late. */
function checkedMs(name: string, value: Date | number): number {
  const ms = Math.ceil(Number(value))
  if (Math.abs(ms) <= INSTANT_MS_MAX) return ms
  throw new Error(`'${name}' must be a finite number of milliseconds, not ${clipped(value)}.`)
}

/** Anything in words: what people throw and give as a reason need not be a text. */
function clipped(words: unknown): string {
  let text: string
  try {
    text = String(words)
  } catch {
    text = 'something that cannot be put into words'
  }
  return text.length <= MESSAGE_CHARS_MAX ? text : `${text.slice(0, MESSAGE_CHARS_MAX)}…`
}
