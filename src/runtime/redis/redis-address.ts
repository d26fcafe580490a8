/** Where Redis is and who we are there, taken from an address such as `redis://user:password@host:6379/0`. */
export interface RedisAddress {
  readonly host: string
  readonly port: number
  readonly database: number
  readonly username: string
  readonly password: string
  readonly isEncrypted: boolean
  /** For messages and logs: without user and password. */
  readonly name: string
}

const PORT_PRESET = 6379
const ADVICE = 'Write it as redis://user:password@host:6379/0, or with rediss:// for TLS.'

/** Throws with what to do about it; the message never repeats the password. */
export function redisAddress(text: string): RedisAddress {
  if (!URL.canParse(text)) throw refused('is not a URL')
  const url = new URL(text)
  const { protocol, hostname, pathname } = url
  if (protocol !== 'redis:' && protocol !== 'rediss:')
    throw refused(`begins with '${protocol}', not with redis:// or rediss://`)
  if (hostname === '') throw refused('names no host')
  if (!/^\/?\d*$/.test(pathname)) throw refused('names a database that is not a number')
  // The driver would take options from there, and with them the limits that keep it from hanging.
  if (url.search !== '' || url.hash !== '')
    throw refused("goes on after the database with '?' or '#'")
  const port = Number(url.port || PORT_PRESET)
  const database = Number(pathname.slice(1))
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port,
    database,
    username: decoded(url.username),
    password: decoded(url.password),
    isEncrypted: protocol === 'rediss:',
    name: `${protocol}//${hostname}:${port}/${database}`,
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw refused("has a '%' in its user or password that stands for nothing; write it as %25")
  }
}

function refused(why: string): Error {
  return new Error(`The address of Redis cannot be used: it ${why}. ${ADVICE}`)
}
