import { createHash } from 'node:crypto'
import { domainOf } from '../../machines/domain.ts'
import { retryAfterMs } from '../../machines/retry-after.ts'
import { defineJob, type JobContext } from '../define-job.ts'
import { readCapped } from './read-capped.ts'

export interface HttpRequestBody {
  readonly url: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as it is. */
  readonly body?: string
  /** Answers that count as success; 200 to 299 unless listed. */
  readonly allowedStatuses?: readonly number[]
  /** Of the answer's body, kept with the result. The digest is over all of it. */
  readonly keepBytesMax?: number
}

export interface HttpRequestResult {
  readonly url: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: number
  /** SHA-256 of the whole body, in hexadecimal. */
  readonly digest: string
  /** Its beginning, as text where it is UTF-8, else in base64. */
  readonly body: string
  readonly encoding: 'utf8' | 'base64'
  readonly isTruncated: boolean
}

const KEEP_BYTES = 64 * 1024
/** Read at all: an answer that never ends must not keep a worker for ever. */
const READ_BYTES_MAX = 50 * 1024 * 1024

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** One polite call of any URL. What it answered is the result. */
export const httpRequest = defineJob<HttpRequestBody, HttpRequestResult>({
  type: 'http.request',
  version: '1.0',
  description: 'One polite call of any URL; keeps status, headers, digest and a capped body.',
  schema: {
    type: 'object',
    required: ['url'],
    additionalProperties: false,
    properties: {
      url: { type: 'string', pattern: '^https?://', maxLength: 8_192 },
      method: { enum: methods },
      headers: { type: 'object', additionalProperties: { type: 'string' }, maxProperties: 64 },
      body: { type: 'string' },
      allowedStatuses: {
        type: 'array',
        items: { type: 'integer', minimum: 100, maximum: 599 },
        maxItems: 100,
      },
      keepBytesMax: { type: 'integer', minimum: 0, maximum: 128 * 1024 },
    },
  },
  domain({ url }) {
    const domain = domainOf(url)
    if (domain === undefined) throw new Error(`"${url}" is not an http or https URL.`)
    return domain
  },
  attemptMsMax: 120_000,
  async run(context) {
    const { body, fetch } = context
    const request = requestOf(body)
    if (request instanceof Error)
      return context.reject({ code: 'request.invalid', message: request.message })
    const response = await fetch(request)
    const { allowedStatuses } = body
    const isAllowed = allowedStatuses ? allowedStatuses.includes(response.status) : response.ok
    if (!isAllowed) return refusal(context, response)
    const keepBytesMax = body.keepBytesMax ?? KEEP_BYTES
    const { bytes, kept, digest } = await readCapped(response.body, {
      keepBytesMax,
      readBytesMax: READ_BYTES_MAX,
      hash: createHash('sha256'),
    })
    return {
      url: response.url,
      status: response.status,
      headers: Object.fromEntries(response.headers),
      bytes,
      digest,
      ...readable(kept, bytes > kept.length),
      isTruncated: bytes > kept.length,
    }
  },
})

/** An impossible one, such as a GET with a body, will be so at every attempt. */
function requestOf({ url, method = 'GET', headers, body }: HttpRequestBody): Request | Error {
  try {
    return new Request(url, {
      method,
      headers: { ...headers },
      ...(body !== undefined && { body }),
    })
  } catch (error) {
    return error as Error
  }
}

/** What it means that the server did not say yes. Being told to slow down is no failure. */
async function refusal(context: JobContext<HttpRequestBody>, response: Response) {
  const { status, headers } = response
  await response.body?.cancel()
  const error = { code: `http.${status}`, message: `${context.body.url} answered ${status}.` }
  const afterMs = retryAfterMs(headers.get('retry-after') ?? undefined, {
    date: headers.get('date') ?? undefined,
    at: context.now(),
  })
  // "Now" is no pause: without a backoff and a count of attempts it would be asked in a loop.
  if ((status === 429 || status === 503) && afterMs)
    return context.wait(context.now() + afterMs, `${error.message} It asks for a pause.`)
  const isTransient = status === 408 || status === 425 || status === 429 || status >= 500
  return isTransient ? context.retry(error) : context.reject(error)
}

function readable(
  kept: Buffer,
  isTruncated: boolean,
): Pick<HttpRequestResult, 'body' | 'encoding'> {
  const base64 = kept.toString('base64')
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
    // A character cut in two by the cap is left out rather than spoiling the text.
    const text = decoder.decode(kept, { stream: isTruncated })
    // Control characters are six bytes each in JSON: such a text could outgrow what may be kept.
    if (Buffer.byteLength(JSON.stringify(text)) <= Math.max(base64.length, KEEP_BYTES))
      return { body: text, encoding: 'utf8' }
  } catch {
    // Not UTF-8.
  }
  return { body: base64, encoding: 'base64' }
}
