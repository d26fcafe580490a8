import { breakerMachine } from '../machines/breaker.ts'
import { type Chart, chartOf } from '../machines/chart.ts'
import { limiterMachine } from '../machines/limiter.ts'
import { processMachine } from '../machines/process.ts'
import { rateLimitConfig } from '../machines/rate-limit-config.ts'
import type { JobTypes } from './job-types.ts'

/** The charts of every machine this process may run, in the order in which people meet them. */
export function machineCatalogue(types: JobTypes): readonly Chart[] {
  const config = rateLimitConfig()
  return [
    ...[...types.kinds.values()].map(({ chart }) => chart.machine),
    limiterMachine(config),
    breakerMachine(config),
    processMachine(),
  ].map(chartOf)
}
