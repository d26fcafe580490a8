/**
 * Everything that can go wrong for a caller, and the only place that knows statuses. Answers follow
 * RFC 9457: `code` is stable and for programs, `detail` is for people and says what to do.
 */
import { STATUS_CODES } from 'node:http'

const statuses = {
  'request.invalid': 400,
  'origin.refused': 403,
  'route.unknown': 404,
  'machine.unknown': 404,
  'request.slow': 408,
  'body.tooLarge': 413,
  'body.unsupported': 415,
  'host.refused': 421,
  'headers.tooLarge': 431,
  internal: 500,
  'process.notReady': 503,
  'answer.slow': 503,
  'drawing.unavailable': 503,
} as const

/** The one status besides success that is no problem: the caller has the answer already. */
export const NOT_MODIFIED = 304

export type ProblemCode = keyof typeof statuses

export class Problem extends Error {
  readonly code: ProblemCode

  constructor(code: ProblemCode, detail: string, options?: ErrorOptions) {
    super(detail, options)
    this.code = code
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

export function problemText({ code, status, message }: Problem): string {
  return JSON.stringify({ title: STATUS_CODES[status], status, code, detail: message })
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
  const { code = '', statusCode = 500, message } = frameworkError(error)
  const known = frameworkProblems.get(code)
  if (known) return new Problem(...known, { cause: error })
  // HPE_ is how Node's HTTP parser begins its complaints.
  if (code.startsWith('HPE_') || (statusCode >= 400 && statusCode < 500)) {
    return new Problem(
      'request.invalid',
      `The request cannot be read (${message}): correct it and send it again.`,
      {
        cause: error,
      },
    )
  }
  return new Problem('internal', 'Something failed on our side; the log says what. Try again.', {
    cause: error,
  })
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
