import type { FastifyInstance } from 'fastify'
import type { Version } from '../runtime/version.ts'
import { Problem } from './problem.ts'

export interface HealthSlice {
  readonly version: Version
  /** Of the process: `starting`, `serving`, `draining`, `stopping` or `stopped`. */
  state(): string
}

export function healthRoutes(app: FastifyInstance, { version, state }: HealthSlice): void {
  /** Alive: it answers at all. Restarting would help nobody who gets this answer. */
  app.get('/healthz', async () => ({ status: 'ok', state: state() }))

  /** Ready: it may be sent work. */
  app.get('/readyz', async () => {
    if (state() === 'serving') return { status: 'ready' }
    throw new Problem(
      'process.notReady',
      `The process is ${state()}: ask again shortly, or ask another one.`,
    )
  })

  app.get('/v1/version', async () => version)
}
