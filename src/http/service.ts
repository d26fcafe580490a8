/**
 * All the parts of a serving process, put together. It begins with the stores and the port, so that
 * no job is touched by a process that cannot serve, and ends in the opposite order.
 */
import type { FastifyBaseLogger } from 'fastify'
import { ActorHost } from '../actors/host.ts'
import { MemorySnapshots } from '../actors/memory-snapshots.ts'
import type { Chance, Clock } from '../actors/ports.ts'
import type { Configuration } from '../runtime/configuration.ts'
import { openRuntime } from '../runtime/create-runtime.ts'
import { type Drawings, openDrawings } from '../runtime/drawings.ts'
import { logHostEvents } from '../runtime/host-log.ts'
import type { JobTypes } from '../runtime/job-types.ts'
import { machineCatalogue } from '../runtime/machine-catalogue.ts'
import { beginProcessLife, type ProcessEnd } from '../runtime/process-life.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { logRuntimeEvents } from '../runtime/runtime-log.ts'
import { startStallWatch } from '../runtime/stall-watch.ts'
import type { NodeCard } from '../runtime/store/job-store.ts'
import { version } from '../runtime/version.ts'
import { buildApp } from './app.ts'
import { EventFeed } from './event-feed.ts'
import { closeApp, listen, urlOf } from './listening.ts'
import { watchStore } from './store-watch.ts'
import { throughputOf } from './throughput.ts'

export interface ServiceParts {
  readonly configuration: Configuration
  readonly types: JobTypes
  /** `api` takes jobs in and runs none. */
  readonly role: NodeCard['role']
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
  const { configuration, types, role, clock, chance, log } = parts
  const { drawings = openDrawings(clock) } = parts
  // The process is an actor before there is a store, and until after the store has been closed.
  const host = new ActorHost({ clock, chance, snapshots: new MemorySnapshots() })
  logHostEvents(host, log)
  const openParts = new OpenParts()
  let runtime: Runtime | undefined
  let url = ''

  const life = beginProcessLife(host, {
    async start() {
      const address = configuration.port === 0 ? null : urlOf(configuration)
      const stallWatch = startStallWatch(clock)
      openParts.add(stallWatch.stop)
      const opened = await openRuntime({
        ...configuration,
        types,
        role,
        address,
        clock,
        onRun: (id, type) => stallWatch.begins(`job ${id} (${type})`),
        onListenerError: (error) => log.error({ err: error }, 'listener.failed'),
      })
      openParts.add(opened.close)
      runtime = opened.runtime
      logHostEvents(runtime.host, log)
      logRuntimeEvents(runtime, log)
      const feed = new EventFeed(runtime, clock)
      const app = appOf(runtime, feed)
      openParts.add(() => closeApp(app, clock))
      // Whoever waits for one is answered before the connections end.
      openParts.add(() => drawings.close())
      url = await listen(app, configuration)
      openParts.add(() => opened.runtime.end())
      if (role !== 'api') await runtime.start()
      openParts.add(async () => feed.end())
    },
    async drain() {
      await runtime?.drain()
    },
    stop: () => openParts.close(),
  })

  function appOf(runtime: Runtime, feed: EventFeed) {
    return buildApp({
      log,
      host: configuration.host,
      health: { version, state: () => life.state, storeTrouble: watchStore(runtime) },
      machines: {
        charts: machineCatalogue(types),
        drawings,
        populations: () => ({ ...runtime.host.populations, ...host.populations }),
      },
      jobs: runtime,
      stats: { runtime, throughput: throughputOf(runtime, clock) },
      events: { feed, jobs: runtime },
    })
  }

  return {
    serving: life.serving.then(() => url),
    ended: life.ended.finally(() => host.stop()),
    requestStop: life.requestStop,
  }
}

/** What has been opened so far; closed in the opposite order, all of it, whatever goes wrong. */
class OpenParts {
  readonly #closings: (() => Promise<void>)[] = []

  add(close: () => Promise<void>): void {
    this.#closings.push(close)
  }

  /** Throws the first error after everything has been tried. */
  async close(): Promise<void> {
    const errors: unknown[] = []
    for (const close of this.#closings.splice(0).reverse())
      await close().catch((error: unknown) => errors.push(error))
    if (errors.length > 0) throw errors[0]
  }
}
