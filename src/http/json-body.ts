import { Problem } from './problem.ts'

/** An empty body is none: some programs name a type where they send nothing. */
export function parseJson(text: string): unknown {
  if (text.trim() === '') return undefined
  try {
    return JSON.parse(text)
  } catch (cause) {
    // Node says what it stumbled over and where.
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new Problem('request.invalid', `The body is not JSON: ${why}.`, { cause })
  }
}
