/** A job as it is handed in over HTTP: the form is checked here, the rest by the runtime. */
import { type Submission, SubmissionRefused } from '../jobs/submission.ts'
import { bodyCheck } from '../runtime/body-check.ts'

interface SubmissionBody extends Omit<Submission, 'runAt' | 'taskId' | 'tracing'> {
  readonly runAt?: string | number
}

/** Types and limits of the values are the runtime's business, which knows better words for them. */
const check = bodyCheck({
  type: 'object',
  required: ['type'],
  additionalProperties: false,
  properties: {
    type: { type: 'string' },
    body: {},
    key: {},
    domain: {},
    priority: {},
    runAt: { type: ['string', 'number'] },
    attemptsMax: {},
  },
})

/** Throws `SubmissionRefused`. */
export function submissionOf(body: unknown): Submission {
  const problems = check(body)
  if (problems.length > 0) throw refused(problems.map(sentence))
  const { runAt, ...rest } = body as SubmissionBody
  return runAt === undefined ? rest : { ...rest, runAt: instantOf(runAt) }
}

/** The checker calls everything it looks at a body; here the body is one part of it. */
function sentence(problem: string): string {
  return `${problem.replace(/^body\//, '').replace(/^body/, 'The request')}.`
}

/** With a time zone: an instant that means something else on another machine is none. */
const ISO_INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/

function instantOf(runAt: string | number): number {
  if (typeof runAt === 'number') return runAt
  const at = ISO_INSTANT.test(runAt) ? Date.parse(runAt) : Number.NaN
  if (!Number.isNaN(at)) return at
  throw refused([
    'runAt must be a time such as 2030-01-31T08:00:00Z, with its zone, or milliseconds since 1970.',
  ])
}

function refused(messages: readonly string[]): SubmissionRefused {
  return new SubmissionRefused(messages.map((message) => ({ index: 0, message })))
}
