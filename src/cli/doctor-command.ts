import { examine, type Finding } from '../runtime/doctor.ts'
import { environment } from '../runtime/environment.ts'
import { commandOptions, UsageRefused } from './command-options.ts'
import { EXIT_DONE, EXIT_FAILED, EXIT_REFUSED } from './exit-codes.ts'

const options = {
  jobs: { type: 'string' },
  json: { type: 'boolean', default: false },
} as const

const USAGE = 'doctor [--jobs ./my-jobs.ts] [--json]'

/** One line for each thing looked at; fails when something is wrong. */
export async function doctor(args: readonly string[]): Promise<number> {
  try {
    const { jobs, json } = commandOptions(args, options, USAGE)
    const findings = await examine(environment(), jobs)
    console.log(json ? JSON.stringify({ findings }, null, 2) : findings.map(line).join('\n'))
    return findings.some(({ isWrong }) => isWrong) ? EXIT_FAILED : EXIT_DONE
  } catch (error) {
    if (!(error instanceof UsageRefused)) throw error
    console.error(error.message)
    return EXIT_REFUSED
  }
}

function line({ check, isWrong, message }: Finding): string {
  return `${isWrong ? 'wrong' : 'ok   '}  ${check.padEnd(13)}  ${message}`
}
