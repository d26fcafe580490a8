/**
 * What the operator may set, read once, checked, and handed down in slices. A variable that nobody
 * knows is refused rather than ignored: a misspelt limit must not silently be no limit.
 */
import type { Variables } from './environment.ts'
import { isLoopback } from './loopback.ts'
import { redisAddress } from './redis/redis-address.ts'

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

export interface Configuration {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  readonly logLevel: LogLevel
  /** The data directory: the node's name and, without `databaseUrl`, the database. */
  readonly data: string
  /** PostgreSQL; without it the embedded SQLite. Holds a password: never shown. */
  readonly databaseUrl: string | undefined
  /** Redis. Holds a password: never shown. */
  readonly redisUrl: string | undefined
  /** Jobs that run at a time. */
  readonly concurrency: number
  /** A file of job definitions. */
  readonly jobsFile: string | undefined
}

/** Every problem of a configuration, one sentence each, that says what to do. */
export class ConfigurationRefused extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

interface Setting<T> {
  readonly variable: string
  readonly preset: T
  /** Undefined when the text does not fit. */
  read(text: string): T | undefined
  /** What follows "DECORUM_X is "y": ". */
  readonly advice: string
  /** Its text is not repeated in messages. */
  readonly isSecret?: boolean
}

const PREFIX = 'DECORUM_'

const host: Setting<string> = {
  variable: 'DECORUM_HOST',
  preset: '127.0.0.1',
  read(text) {
    const name = text.toLowerCase()
    return isLoopback(name) ? name : undefined
  },
  advice:
    'this version serves only its own machine, because access tokens are still to come; set it to 127.0.0.1, ::1 or localhost, or leave it out.',
}

const port: Setting<number> = {
  variable: 'DECORUM_PORT',
  preset: 7070,
  read(text) {
    const number = Number(text)
    return /^\d{1,5}$/.test(text) && number <= 65_535 ? number : undefined
  },
  advice: 'set it to a whole number from 0 to 65535, where 0 takes any free port.',
}

const logLevel: Setting<LogLevel> = {
  variable: 'DECORUM_LOG_LEVEL',
  preset: 'warn',
  read: (text) => logLevels.find((level) => level === text),
  advice: `set it to one of ${logLevels.join(', ')}.`,
}

const data: Setting<string> = {
  variable: 'DECORUM_DATA',
  preset: 'decorum-data',
  read: path,
  advice: 'set it to the path of a directory.',
}

const databaseUrl: Setting<string | undefined> = {
  variable: 'DATABASE_URL',
  preset: undefined,
  read: (text) => (/^postgres(ql)?:\/\//.test(text) && URL.canParse(text) ? text : undefined),
  advice:
    'write it as postgres://user:password@host:5432/database, or leave it out to use the embedded database.',
  isSecret: true,
}

const redisUrl: Setting<string | undefined> = {
  variable: 'REDIS_URL',
  preset: undefined,
  read(text) {
    try {
      redisAddress(text)
      return text
    } catch {
      return undefined
    }
  },
  advice:
    'write it as redis://user:password@host:6379/0, or with rediss:// for TLS, or leave it out to do without Redis.',
  isSecret: true,
}

const CONCURRENCY_MAX = 100_000

const concurrency: Setting<number> = {
  variable: 'DECORUM_CONCURRENCY',
  preset: 100,
  read(text) {
    const number = Number(text)
    return /^\d{1,6}$/.test(text) && number >= 1 && number <= CONCURRENCY_MAX ? number : undefined
  },
  advice: `set it to a whole number from 1 to ${CONCURRENCY_MAX}: the jobs that run at a time.`,
}

const jobsFile: Setting<string | undefined> = {
  variable: 'DECORUM_JOBS',
  preset: undefined,
  read: path,
  advice: 'set it to the path of a file whose default export is an array of job definitions.',
}

const settings = {
  host,
  port,
  logLevel,
  data,
  databaseUrl,
  redisUrl,
  concurrency,
  jobsFile,
} satisfies { readonly [N in keyof Configuration]: Setting<Configuration[N]> }

/** Ours by their prefix; the names of the servers are everybody's and are not searched for typos. */
const known: readonly string[] = Object.values(settings)
  .map(({ variable }) => variable)
  .filter((name) => name.startsWith(PREFIX))

/** Presets for what is absent or empty; throws `ConfigurationRefused` with every problem at once. */
export function configurationFrom(variables: Variables): Configuration {
  const problems = strangersIn(variables)
  const valueFor = <T>({ variable, preset, read, advice, isSecret }: Setting<T>): T => {
    const text = variables[variable]?.trim() ?? ''
    if (text === '') return preset
    const value = read(text)
    const found = isSecret ? 'cannot be used' : `is "${text}"`
    if (value === undefined) problems.push(`${variable} ${found}: ${advice}`)
    return value ?? preset
  }
  const configuration: Configuration = {
    host: valueFor(host),
    port: valueFor(port),
    logLevel: valueFor(logLevel),
    data: valueFor(data),
    databaseUrl: valueFor(databaseUrl),
    redisUrl: valueFor(redisUrl),
    concurrency: valueFor(concurrency),
    jobsFile: valueFor(jobsFile),
  }
  if (problems.length > 0) throw new ConfigurationRefused(problems)
  return Object.freeze(configuration)
}

function path(text: string): string | undefined {
  return text.includes('\0') ? undefined : text
}

function strangersIn(variables: Variables): string[] {
  return Object.keys(variables)
    .filter((name) => name.startsWith(PREFIX) && !known.includes(name))
    .sort()
    .map((name) => `${name} is not known: remove it or correct its name to ${oneOf(known)}.`)
}

function oneOf(names: readonly string[]): string {
  return `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
}
