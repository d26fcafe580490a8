import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { NOT_MODIFIED } from './problem.ts'
import { policyFor } from './security-headers.ts'

export interface DocumentText {
  readonly type: string
  readonly text: string
}

/** Browsers keep it and ask each time whether it is still the same; then the text stays here. */
export function sendRevalidated(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { type, text }: DocumentText,
): FastifyReply {
  const etag = etagOf(text)
  reply.headers({ etag, 'cache-control': 'no-cache' })
  if (isKnown(etag, headers['if-none-match'])) return reply.code(NOT_MODIFIED).send()
  return reply.type(type).header('content-security-policy', policyFor(text)).send(text)
}

function etagOf(text: string): string {
  return `"${createHash('sha256').update(text).digest('base64url')}"`
}

/** RFC 9110 §13.1.2: weak and strong tags are compared alike here. */
function isKnown(etag: string, ifNoneMatch = ''): boolean {
  const known = ifNoneMatch.split(',').map((each) => each.trim().replace(/^W\//, ''))
  return known.includes(etag) || known.includes('*')
}
