import type { FastifyInstance } from 'fastify'
import type { Version } from '../runtime/version.ts'
import { Problem } from './problem.ts'

export interface HealthSlice {
  readonly version: Version
  /** Of the process: `starting`, `serving`, `draining`, `stopping` or `stopped`. */
  state(): string
  /** Why the store cannot be relied upon now, or undefined while it can. */
  storeTrouble(): string | undefined
}

export function healthRoutes(
  app: FastifyInstance,
  { version, state, storeTrouble }: HealthSlice,
): void {
  /** Alive: it answers at all. Restarting would help nobody who gets this answer. */
  app.get('/healthz', async () => ({ status: 'ok', state: state() }))

  /** Ready: it may be sent work. */
  app.get('/readyz', async () => {
    if (state() !== 'serving')
      throw new Problem(
        'process.notReady',
        `The process is ${state()}: ask again shortly, or ask another one.`,
      )
    const trouble = storeTrouble()
    if (trouble !== undefined) throw new Problem('store.unavailable', trouble)
    return { status: 'ready' }
  })

  app.get('/v1/version', async () => version)
}
