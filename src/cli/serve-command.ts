import pino from 'pino'
import { startService } from '../http/service.ts'
import { systemClock } from '../runtime/clock.ts'
import {
  type Configuration,
  ConfigurationRefused,
  configurationFrom,
} from '../runtime/configuration.ts'
import { environment } from '../runtime/environment.ts'
import { systemChance } from '../runtime/random.ts'
import { onStopSignal } from '../runtime/stop-signals.ts'
import { version } from '../runtime/version.ts'

/** Distinct, so that a supervisor knows not to try again before somebody has changed something. */
const EXIT_CONFIGURATION = 2

/** Serves until it is asked to stop, and gives the code to exit with. */
export async function serve(): Promise<number> {
  const configuration = readConfiguration()
  if (!configuration) return EXIT_CONFIGURATION
  const service = startService({
    configuration,
    clock: systemClock,
    chance: systemChance,
    log: pino({ level: configuration.logLevel }, pino.destination({ dest: 2, sync: true })),
  })
  onStopSignal(process, systemClock, service.requestStop)
  service.serving.then((url) => {
    console.log(`Decorum ${version.version} is serving on ${url} (Ctrl+C stops it)`)
  })
  const { exitCode, reason } = await service.ended
  if (exitCode !== 0) console.error(`Decorum stopped. ${reason}`)
  return exitCode
}

function readConfiguration(): Configuration | undefined {
  try {
    return configurationFrom(environment())
  } catch (error) {
    if (!(error instanceof ConfigurationRefused)) throw error
    for (const problem of error.problems) console.error(`Decorum cannot start. ${problem}`)
    return undefined
  }
}
