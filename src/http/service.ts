/** All the parts of a serving process, put together. */
import type { FastifyBaseLogger } from 'fastify'
import { ActorHost } from '../actors/host.ts'
import { MemorySnapshots } from '../actors/memory-snapshots.ts'
import type { Chance, Clock } from '../actors/ports.ts'
import type { Configuration } from '../runtime/configuration.ts'
import { type Drawings, openDrawings } from '../runtime/drawings.ts'
import { logHostEvents } from '../runtime/host-log.ts'
import { machineCatalogue } from '../runtime/machine-catalogue.ts'
import { beginProcessLife, type ProcessEnd } from '../runtime/process-life.ts'
import { version } from '../runtime/version.ts'
import { buildApp } from './app.ts'
import { listen } from './listening.ts'

export interface ServiceParts {
  readonly configuration: Configuration
  readonly clock: Clock
  readonly chance: Chance
  readonly log: FastifyBaseLogger
  readonly drawings?: Drawings
}

export interface Service {
  /** The URL, once it serves; stays open when it ends before. */
  readonly serving: Promise<string>
  readonly ended: Promise<ProcessEnd>
  /** The second time it is meant at once. */
  requestStop(reason: string): void
}

export function startService(parts: ServiceParts): Service {
  const { configuration, clock, chance, log, drawings = openDrawings(clock) } = parts
  const host = new ActorHost({ clock, chance, snapshots: new MemorySnapshots() })
  logHostEvents(host, log)
  const app = buildApp({
    log,
    host: configuration.host,
    health: { version, state: () => life.state },
    machines: { charts: machineCatalogue(), drawings, populations: () => host.populations },
  })
  let url = ''
  const life = beginProcessLife(host, {
    async start() {
      url = await listen(app, configuration)
    },
    // Nothing runs yet that would have to finish.
    async drain() {},
    async stop() {
      await drawings.close()
      await app.close()
    },
  })
  return {
    serving: life.serving.then(() => url),
    ended: life.ended.finally(() => host.stop()),
    requestStop: life.requestStop,
  }
}
