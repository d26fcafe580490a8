/**
 * The job types a process knows, checked once: a wrong definition is refused at the start with what
 * is wrong about it, not when its first job runs.
 */
import { type Statechart, statechartOf } from '../actors/statechart.ts'
import type { AnyJob, HandlerJob, StatesJob } from '../jobs/define-job.ts'
import { handlerJobMachine } from '../machines/handler-job.ts'
import type { JobMessage, JobPolicy } from '../machines/job.ts'
import { statesJobMachine } from '../machines/states-job.ts'
import { type BodyCheck, bodyCheck } from './body-check.ts'

export interface RegisteredType {
  readonly type: string
  readonly version: string
  /** The kind of actor its jobs are: `job` for handlers, one kind for each type with states. */
  readonly kind: string
  readonly chart: Statechart
  readonly definition: AnyJob
  readonly attemptsMax: number
  readonly check: BodyCheck
}

export class JobTypesRefused extends Error {}

export const jobDefaults = {
  attemptsMax: 5,
  attemptMsMax: 5 * 60_000,
  pauseMsMax: 2_000,
  backoff: { kind: 'exponential', baseMs: 1_000, maxMs: 10 * 60_000 },
} as const satisfies JobPolicy & { attemptsMax: number }

const HANDLER_KIND = 'job'

export class JobTypes {
  readonly #types = new Map<string, RegisteredType>()

  /** Throws `JobTypesRefused`, saying which definition is wrong and why. */
  constructor(definitions: readonly unknown[]) {
    if (!Array.isArray(definitions))
      throw new JobTypesRefused('Jobs are an array of definitions, each { type, version, run }.')
    definitions.forEach((definition, index) => {
      const registered = register(definition, index)
      if (this.#types.has(registered.type))
        throw new JobTypesRefused(`The job type '${registered.type}' is defined twice.`)
      this.#types.set(registered.type, registered)
    })
  }

  get(type: string): RegisteredType | undefined {
    return this.#types.get(type)
  }

  get names(): readonly string[] {
    return [...this.#types.keys()]
  }

  /** One for each kind of actor, with a chart that stands for it. */
  get kinds(): ReadonlyMap<string, RegisteredType> {
    return new Map([...this.#types.values()].map((registered) => [registered.kind, registered]))
  }
}

/** Whether its jobs are performed state by state. */
export function hasStates(definition: AnyJob): definition is StatesJob {
  return 'states' in definition
}

function register(candidate: unknown, index: number): RegisteredType {
  const definition = checked(candidate, index)
  const { type, version, attemptsMax = jobDefaults.attemptsMax } = definition
  const kind = hasStates(definition) ? `job-${type.replaceAll('.', '-')}` : HANDLER_KIND
  try {
    const chart = statechartOf(machineOf(definition, kind))
    const check = bodyCheck(definition.schema)
    return { type, version, kind, chart, definition, attemptsMax, check }
  } catch (cause) {
    throw new JobTypesRefused(`The job type '${type}' cannot be used: ${messageOf(cause)}`, {
      cause,
    })
  }
}

function machineOf(definition: AnyJob, id: string) {
  const { attemptMsMax = jobDefaults.attemptMsMax, backoff = jobDefaults.backoff } = definition
  const policy: JobPolicy = { attemptMsMax, backoff, pauseMsMax: jobDefaults.pauseMsMax }
  if (!hasStates(definition)) return handlerJobMachine(policy)
  const { version, states, type, description = `A job of type ${type}.` } = definition
  return statesJobMachine({ id, version, description, policy, states })
}

function checked(candidate: unknown, index: number): AnyJob {
  const refuse = (what: string): never => {
    throw new JobTypesRefused(`Job definition ${index + 1}${nameOf(candidate)}: ${what}`)
  }
  if (typeof candidate !== 'object' || candidate === null)
    return refuse('expected an object { type, version, run }.')
  const { type, version, run, states, performers, attemptsMax, attemptMsMax, schema, domain } =
    candidate as Partial<HandlerJob & StatesJob>
  if (typeof type !== 'string' || !/^[a-z][a-z0-9-]*(\.[a-z][a-z0-9-]*)*$/i.test(type))
    return refuse("'type' must be dotted words, such as 'entity.match'.")
  if (typeof version !== 'string' || version === '')
    return refuse("'version' must be a text, such as '1.0'.")
  if (schema !== undefined && !isSchema(schema))
    return refuse("'schema' must be a JSON Schema or a Standard Schema.")
  if (domain !== undefined && typeof domain !== 'function')
    return refuse("'domain' must be a function of the body.")
  for (const [name, value] of Object.entries({ attemptsMax, attemptMsMax }))
    if (value !== undefined && !(Number.isInteger(value) && value > 0))
      return refuse(`'${name}' must be a whole number above 0.`)
  if (run !== undefined && states !== undefined)
    return refuse("have either 'run' or 'states', not both.")
  if (states === undefined)
    return typeof run === 'function'
      ? (candidate as HandlerJob)
      : refuse("'run' must be a function, or have 'states' and 'performers'.")
  return checkedStates(candidate as StatesJob, states, performers, refuse)
}

function checkedStates(
  job: StatesJob,
  states: StatesJob['states'],
  performers: StatesJob['performers'] | undefined,
  refuse: (what: string) => never,
): StatesJob {
  const names = Object.keys(states)
  if (names.length === 0) return refuse("'states' must have at least one state.")
  for (const name of names) {
    if (!/^[a-z][a-zA-Z0-9]*$/.test(name) || name === 'where' || name === 'performed')
      return refuse(`the state '${name}' needs another name: letters and digits, lower case first.`)
    if (typeof performers?.[name] !== 'function')
      return refuse(`'performers' must have a function '${name}' for the state of that name.`)
    const { on } = states[name] ?? {}
    if (on !== undefined && Object.keys(on).length === 0)
      return refuse(`the state '${name}' leads nowhere: leave out 'on' where the job ends.`)
    for (const [event, target] of Object.entries(on ?? {})) {
      if (!/^[A-Z][A-Z0-9_]*$/.test(event) || lifecycleEvents.has(event))
        return refuse(
          `the event '${event}' of the state '${name}' needs another name: capitals, digits and _, and none of ${[...lifecycleEvents].join(', ')}.`,
        )
      if (!names.includes(target))
        return refuse(`the state '${name}' leads to '${target}', which is not one of the states.`)
    }
  }
  return job
}

/** What happens to every job; a state that took one of these for its own would not be told. */
const lifecycleEvents: ReadonlySet<string> = new Set<JobMessage['type']>([
  'CONCLUDED',
  'CHECKPOINTED',
  'PROGRESSED',
  'COUNTED',
  'SETTLED',
  'CANCELLED',
  'LEASE_LOST',
  'DRAINED',
  'DUE',
  'RESUMED',
])

/** Those of some libraries are functions. */
function isSchema(schema: unknown): boolean {
  return typeof schema === 'function'
    ? '~standard' in schema
    : typeof schema === 'object' && schema !== null
}

function nameOf(candidate: unknown): string {
  const type = (candidate as { type?: unknown } | null)?.type
  return typeof type === 'string' ? ` ('${type}')` : ''
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
