/**
 * Everything that can go wrong for a caller, and the only place that knows statuses. Answers follow
 * RFC 9457: `code` is stable and for programs, `detail` is for people and says what to do.
 */
import { STATUS_CODES } from 'node:http'
import { QueueFull, SubmissionRefused } from '../jobs/submission.ts'
import { StoreUnavailable } from '../runtime/store/job-store.ts'

/** Explained to callers in docs/errors.md. */
export const statuses = {
  'request.invalid': 400,
  'job.refused': 400,
  'origin.refused': 403,
  'route.unknown': 404,
  'machine.unknown': 404,
  'job.unknown': 404,
  'request.slow': 408,
  'job.final': 409,
  'body.tooLarge': 413,
  'body.unsupported': 415,
  'host.refused': 421,
  'queue.full': 429,
  'streams.full': 429,
  'headers.tooLarge': 431,
  internal: 500,
  'process.notReady': 503,
  'store.unavailable': 503,
  'answer.slow': 503,
  'drawing.unavailable': 503,
} as const

/** What is neither a plain success nor a problem. */
export const ACCEPTED = 202
export const EVENT_STREAM = 200
/** The caller has the answer already. */
export const NOT_MODIFIED = 304

export type ProblemCode = keyof typeof statuses

export interface ProblemOptions extends ErrorOptions {
  /** Everything that is wrong, one sentence each, where `detail` is not enough for a program. */
  readonly problems?: readonly string[]
  /** When it is worth trying again. */
  readonly retryAfterMs?: number
}

export class Problem extends Error {
  readonly code: ProblemCode
  readonly problems: readonly string[] | undefined
  readonly retryAfterMs: number | undefined

  constructor(code: ProblemCode, detail: string, options: ProblemOptions = {}) {
    super(detail, options)
    this.code = code
    this.problems = options.problems
    this.retryAfterMs = options.retryAfterMs
  }

  get status(): number {
    return statuses[this.code]
  }

  /** Whether it is ours to look into rather than the caller's. */
  get isOurs(): boolean {
    return this.code === 'internal' || this.code === 'drawing.unavailable'
  }
}

export const problemType = 'application/problem+json; charset=utf-8'

export function problemText({ code, status, message, problems }: Problem): string {
  return JSON.stringify({ title: STATUS_CODES[status], status, code, detail: message, problems })
}

export function problemHeaders({ retryAfterMs }: Problem): Readonly<Record<string, string>> {
  if (retryAfterMs === undefined) return {}
  return { 'retry-after': String(Math.ceil(retryAfterMs / 1_000)) }
}

/** The whole answer as bytes on the wire, for a connection that never became a request. */
export function rawProblem(problem: Problem): string {
  const text = problemText(problem)
  return [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
    `Content-Type: ${problemType}`,
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Connection: close',
    '',
    text,
  ].join('\r\n')
}

/** Any error as a problem; what is not meant for callers keeps its words for the log. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error
  const refusal = refusalOf(error)
  if (refusal) return refusal
  const { code = '', statusCode = 500, message } = frameworkError(error)
  const known = frameworkProblems.get(code)
  if (known) return new Problem(...known, { cause: error })
  // HPE_ is how Node's HTTP parser begins its complaints.
  if (code.startsWith('HPE_') || (statusCode >= 400 && statusCode < 500)) {
    return new Problem(
      'request.invalid',
      `The request cannot be read (${message}): correct it and send it again.`,
      { cause: error },
    )
  }
  return new Problem('internal', 'Something failed on our side; the log says what. Try again.', {
    cause: error,
  })
}

/** How long the runtime's duties wait at most before they ask a store that was away again. */
const STORE_RETRY_MS = 5_000

/** What the runtime refuses is already in words for the caller. */
function refusalOf(error: unknown): Problem | undefined {
  if (error instanceof SubmissionRefused) {
    const problems = error.problems.map(({ message }) => message)
    return new Problem('job.refused', error.message, { problems, cause: error })
  }
  if (error instanceof QueueFull) {
    const { message, retryAfterMs } = error
    return new Problem('queue.full', message, { retryAfterMs, cause: error })
  }
  if (error instanceof StoreUnavailable)
    return new Problem('store.unavailable', error.message, {
      retryAfterMs: STORE_RETRY_MS,
      cause: error,
    })
  return undefined
}

const frameworkProblems = new Map<string, [ProblemCode, string]>([
  ['FST_ERR_CTP_BODY_TOO_LARGE', ['body.tooLarge', 'Send a smaller body.']],
  ['FST_ERR_CTP_INVALID_MEDIA_TYPE', ['body.unsupported', 'Send the body as application/json.']],
  ['FST_ERR_HANDLER_TIMEOUT', ['answer.slow', 'The answer took too long; try again later.']],
  ['HPE_HEADER_OVERFLOW', ['headers.tooLarge', 'Send fewer or shorter headers.']],
  ['ERR_HTTP_REQUEST_TIMEOUT', ['request.slow', 'Send the whole request faster.']],
])

interface FrameworkError {
  readonly code?: string
  readonly statusCode?: number
  readonly message: string
}

function frameworkError(error: unknown): FrameworkError {
  return error instanceof Error ? error : { message: String(error) }
}
