import { breakerMachine } from '../machines/breaker.ts'
import { type Chart, chartOf } from '../machines/chart.ts'
import { handlerJobMachine } from '../machines/handler-job.ts'
import type { JobPolicy } from '../machines/job.ts'
import { limiterMachine } from '../machines/limiter.ts'
import { processMachine } from '../machines/process.ts'
import { rateLimitConfig } from '../machines/rate-limit-config.ts'

/** A chart's form does not depend on these figures; a machine cannot be built without some. */
const jobPolicy: JobPolicy = {
  backoff: { kind: 'exponential', baseMs: 1_000, maxMs: 60_000 },
  pauseMsMax: 5_000,
  attemptMsMax: 300_000,
}

/** The charts of every machine this process may run, in the order in which people meet them. */
export function machineCatalogue(): readonly Chart[] {
  const config = rateLimitConfig()
  return [
    handlerJobMachine(jobPolicy),
    limiterMachine(config),
    breakerMachine(config),
    processMachine(),
  ].map(chartOf)
}
