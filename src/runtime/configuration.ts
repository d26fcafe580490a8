/**
 * What the operator may set, read once, checked, and handed down in slices. A variable that nobody
 * knows is refused rather than ignored: a misspelt limit must not silently be no limit.
 */
import type { Variables } from './environment.ts'
import { isLoopback } from './loopback.ts'

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

export interface Configuration {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  readonly logLevel: LogLevel
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
}

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

const known: readonly string[] = [host, port, logLevel].map(({ variable }) => variable)

/** Presets for what is absent or empty; throws `ConfigurationRefused` with every problem at once. */
export function configurationFrom(variables: Variables): Configuration {
  const problems = strangersIn(variables)
  const valueFor = <T>({ variable, preset, read, advice }: Setting<T>): T => {
    const text = variables[variable]?.trim() ?? ''
    if (text === '') return preset
    const value = read(text)
    if (value === undefined) problems.push(`${variable} is "${text}": ${advice}`)
    return value ?? preset
  }
  const configuration: Configuration = {
    host: valueFor(host),
    port: valueFor(port),
    logLevel: valueFor(logLevel),
  }
  if (problems.length > 0) throw new ConfigurationRefused(problems)
  return Object.freeze(configuration)
}

function strangersIn(variables: Variables): string[] {
  return Object.keys(variables)
    .filter((name) => name.startsWith('DECORUM_') && !known.includes(name))
    .sort()
    .map((name) => `${name} is not known: remove it or correct its name to ${oneOf(known)}.`)
}

function oneOf(names: readonly string[]): string {
  return `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
}
