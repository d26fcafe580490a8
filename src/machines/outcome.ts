/**
 * What an answer, or the lack of one, means. The one place where statuses and error codes are read;
 * everything else asks about kinds.
 */

export type OutcomeKind =
  /** An answer the host was willing to give: 2xx, 3xx. */
  | 'success'
  /** The request was at fault, or withdrawn by us: 4xx, an invalid URL, an abort. */
  | 'clientError'
  /** We ask too often: 429. */
  | 'throttled'
  /** The host has too much to do: 503. */
  | 'overloaded'
  /** The host failed: the other 5xx. */
  | 'serverError'
  /** There was no answer: a timeout, a broken connection, no address, a bad certificate. */
  | 'network'

export interface Outcome {
  readonly kind: OutcomeKind
  /** Whether the same request may well succeed later. */
  readonly retryable: boolean
}

export type Answer =
  | { readonly status: number }
  | { readonly error: { readonly code?: string; readonly name?: string } }

/** What an operator knows better about a host. A status in both lists is permanent. */
export interface OutcomeRules {
  readonly transientStatuses?: readonly number[]
  readonly permanentStatuses?: readonly number[]
}

const consequences: {
  readonly [Kind in OutcomeKind]: { readonly slowsDown: boolean; readonly breaks: boolean }
} = {
  success: { slowsDown: false, breaks: false },
  clientError: { slowsDown: false, breaks: false },
  throttled: { slowsDown: true, breaks: true },
  overloaded: { slowsDown: true, breaks: true },
  serverError: { slowsDown: false, breaks: true },
  network: { slowsDown: false, breaks: true },
}

const transientStatuses: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504])

/** Our own doing, known by code or by name; the host is not to blame and the next try no better. */
const ownFaults: ReadonlySet<string> = new Set([
  'AbortError',
  'ERR_INVALID_ARG_TYPE',
  'ERR_INVALID_ARG_VALUE',
  'ERR_INVALID_PROTOCOL',
  'ERR_INVALID_URL',
  'UND_ERR_ABORTED',
  'UND_ERR_INVALID_ARG',
  'UND_ERR_NOT_SUPPORTED',
  // More than we are willing to read: asking again brings the same.
  'UND_ERR_HEADERS_OVERFLOW',
  'UND_ERR_RES_EXCEEDED_MAX_SIZE',
])

/** Node's and OpenSSL's words for a certificate that will not do: somebody has to change it. */
const badCertificates: ReadonlySet<string> = new Set([
  'CERT_CHAIN_TOO_LONG',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'HOSTNAME_MISMATCH',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

export function classify(seen: Answer, rules: OutcomeRules = {}): Outcome {
  return 'status' in seen ? classifyStatus(seen.status, rules) : classifyError(seen.error)
}

/**
 * Whether it is evidence that the domain should be left alone for a while. An answer that directs
 * us with Retry-After is not: the host has said itself when to come back.
 */
export function countsAgainstBreaker(kind: OutcomeKind, directed = false): boolean {
  return consequences[kind].breaks && !directed
}

/** Whether the host asks for fewer requests. */
export function slowsDown(kind: OutcomeKind): boolean {
  return consequences[kind].slowsDown
}

function classifyStatus(status: number, rules: OutcomeRules): Outcome {
  const kind = kindOfStatus(status)
  return { kind, retryable: kind !== 'success' && isTransient(status, rules) }
}

function kindOfStatus(status: number): OutcomeKind {
  if (status < 400) return 'success'
  if (status === 429) return 'throttled'
  if (status === 503) return 'overloaded'
  return status < 500 ? 'clientError' : 'serverError'
}

function isTransient(status: number, rules: OutcomeRules): boolean {
  if (rules.permanentStatuses?.includes(status)) return false
  return transientStatuses.has(status) || (rules.transientStatuses?.includes(status) ?? false)
}

function classifyError({ code = '', name = '' }: { code?: string; name?: string }): Outcome {
  if (ownFaults.has(code) || ownFaults.has(name)) return { kind: 'clientError', retryable: false }
  return { kind: 'network', retryable: !badCertificates.has(code) }
}
