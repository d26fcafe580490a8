import { createHash } from 'node:crypto'

const nothing =
  "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" as const

/** On every answer. Nothing we serve needs scripts, frames or strangers. */
export const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': nothing,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** For a document that shows our own images and styles, and exactly the styles written into it. */
export function policyFor(markup: string): string {
  const styles = [...markup.matchAll(/<style>(.*?)<\/style>/gs)].map(([, style]) => style ?? '')
  const hashes = new Set(styles.map((style) => `'sha256-${sha256(style)}'`))
  return [nothing, "img-src 'self'", ["style-src 'self'", ...hashes].join(' ')].join('; ')
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64')
}
