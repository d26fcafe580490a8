/**
 * What went wrong between us and Redis, as a sentence that says what to do.
 *
 * The driver's own errors go no further than here: they carry the command with all its arguments,
 * and with them passwords and whole snapshots, into every log they are handed to.
 */
export class RedisTrouble extends Error {
  override readonly name = 'RedisTrouble'
}

/** By the system's code, or by the first word of what Redis answers. */
const advice: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nobody listens there. Start Redis, or correct its address.',
  ENOTFOUND: 'there is no host of that name. Correct the address of Redis.',
  EAI_AGAIN: 'the name of the host cannot be looked up now. Check the network and its DNS.',
  ETIMEDOUT: 'the host does not answer. Check the address of Redis, the network and its firewalls.',
  EHOSTUNREACH: 'no way leads to the host. Check the address of Redis and the network.',
  ECONNRESET: 'the connection broke. Nothing is to be done if Redis was restarted.',
  WRONGPASS: 'user or password are wrong. Correct them in the address of Redis.',
  NOAUTH: 'it wants a password. Put it into the address of Redis: redis://:password@host.',
  NOPERM: 'this user may not do that. Allow it hashes, EVAL and EVALSHA on its keys.',
  READONLY: 'it is a read-only replica. Correct the address of Redis to that of the primary.',
  OOM: 'its memory is full. Give it more, or let it evict keys (maxmemory-policy).',
  NOSCRIPT: 'its scripts were flushed a moment ago. The next attempt brings them back.',
  BUSY: 'a script of somebody else keeps it busy. Find and end that script.',
}

const UNANSWERED = 'it does not answer in time. Check its load and the network.'
const BROKEN = 'the connection broke before the answer. The next attempt will tell.'

export function troubleWith(name: string, why: string): RedisTrouble {
  return new RedisTrouble(`Redis at ${name} cannot be used: ${why}`)
}

export function adviceOn(error: Error): string {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  const known = advice[code] ?? advice[firstWord(error.message)]
  if (known) return known
  if (error.message === 'Command timed out' || error.message.startsWith('Socket timeout'))
    return UNANSWERED
  if (error.message.startsWith('ERR DB index')) return 'it has no database of that number.'
  if (isFromDriver(error)) return BROKEN
  return error.message
}

/** Its words are about the driver's options, which mean nothing to an operator. */
function isFromDriver({ name, message }: Error): boolean {
  return (
    name === 'AbortError' ||
    name === 'MaxRetriesPerRequestError' ||
    message === 'Connection is closed.' ||
    message.startsWith("Stream isn't writeable")
  )
}

function firstWord(text: string): string {
  return text.slice(0, text.search(/\s|$/))
}
