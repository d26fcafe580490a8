import pino from 'pino'
import { startService } from '../http/service.ts'
import { systemClock } from '../runtime/clock.ts'
import {
  type Configuration,
  ConfigurationRefused,
  configurationFrom,
} from '../runtime/configuration.ts'
import { environment } from '../runtime/environment.ts'
import type { JobTypes } from '../runtime/job-types.ts'
import { JobsFileRefused, loadJobs } from '../runtime/load-jobs.ts'
import { systemChance } from '../runtime/random.ts'
import { onStopSignal } from '../runtime/stop-signals.ts'
import type { NodeCard } from '../runtime/store/job-store.ts'
import { version } from '../runtime/version.ts'
import { commandOptions, UsageRefused } from './command-options.ts'
import { EXIT_REFUSED } from './exit-codes.ts'

type Role = NodeCard['role']

interface Wishes {
  readonly configuration: Configuration
  readonly role: Role
  readonly types: JobTypes
}

const roles: readonly Role[] = ['all', 'api', 'worker']

const USAGE = `serve [--jobs ./my-jobs.ts] [--role ${roles.join('|')}]`

/** Serves until it is asked to stop, and gives the code to exit with. */
export async function serve(args: readonly string[]): Promise<number> {
  const wishes = await read(args)
  if (!wishes) return EXIT_REFUSED
  const { logLevel } = wishes.configuration
  const service = startService({
    ...wishes,
    clock: systemClock,
    chance: systemChance,
    log: pino({ level: logLevel }, pino.destination({ dest: 2, sync: true })),
  })
  onStopSignal(process, systemClock, service.requestStop)
  service.serving.then((url) => {
    console.log(`Decorum ${version.version} is serving on ${url} (Ctrl+C stops it)`)
  })
  const { exitCode, reason } = await service.ended
  if (exitCode !== 0) console.error(`Decorum stopped. ${reason}`)
  return exitCode
}

/** Everything that can be refused before anything has been opened. */
async function read(args: readonly string[]): Promise<Wishes | undefined> {
  try {
    const options = { jobs: { type: 'string' }, role: { type: 'string', default: 'all' } } as const
    const { jobs, role } = commandOptions(args, options, USAGE)
    const configuration = configurationFrom(environment())
    const types = await loadJobs(jobs ?? configuration.jobsFile)
    return { configuration, role: roleOf(role), types }
  } catch (error) {
    for (const problem of problemsOf(error)) console.error(`Decorum cannot start. ${problem}`)
    return undefined
  }
}

function roleOf(text: string): Role {
  const role = roles.find((each) => each === text)
  if (!role) throw new UsageRefused(`There is no role '${text}'. Usage: ${USAGE}`)
  return role
}

function problemsOf(error: unknown): readonly string[] {
  if (error instanceof ConfigurationRefused) return error.problems
  if (error instanceof UsageRefused || error instanceof JobsFileRefused) return [error.message]
  throw error
}
