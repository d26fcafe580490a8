import type { FastifyInstance } from 'fastify'
import pino from 'pino'
import { Population } from '../../src/actors/population.ts'
import { VirtualClock } from '../../src/actors/virtual-clock.ts'
import { type AppParts, buildApp } from '../../src/http/app.ts'
import { EventFeed } from '../../src/http/event-feed.ts'
import type { Drawings } from '../../src/runtime/drawings.ts'
import { JobTypes } from '../../src/runtime/job-types.ts'
import { builtInJobs } from '../../src/runtime/load-jobs.ts'
import { machineCatalogue } from '../../src/runtime/machine-catalogue.ts'
import { StoreUnavailable } from '../../src/runtime/store/job-store.ts'
import { version } from '../../src/runtime/version.ts'

export const builtInCharts = machineCatalogue(new JobTypes(builtInJobs))

/** One process that serves, nobody else: the population of a service that has just started. */
export function servingPopulation(): Population {
  const population = new Population()
  population.move(undefined, 'serving')
  population.transitioned()
  return population
}

export const silent = pino({ level: 'silent' })

/** Small, at once, and with the markup that matters: a style, states with their ids. */
export const plainDrawings: Drawings = {
  atHand: (chart) => plainDrawings.of(chart),
  of: async ({ id, states }) =>
    [
      `<svg xmlns="http://www.w3.org/2000/svg" aria-label="${id}"><style>text { fill: red }</style>`,
      ...states.map((state) => `<g class="state ${state.kind}" data-state="${state.id}"/>`),
      '</svg>',
    ].join('\n'),
  close: async () => {},
}

const away = async (): Promise<never> => {
  throw new StoreUnavailable('database.away', 'The database is away: try again.')
}

/** A runtime whose store cannot be reached. */
const runtimeWithoutStore = {
  nodeId: 'test-node',
  on: () => () => {},
  submit: away,
  get: away,
  cancel: away,
  stats: away,
  nodes: away,
  pauses: away,
}

export interface TestAppParts {
  readonly state?: () => string
  readonly storeTrouble?: () => string | undefined
  readonly drawings?: Drawings
  readonly host?: string
  readonly log?: AppParts['log']
  readonly jobs?: Partial<AppParts['jobs']>
}

export function testApp(parts: TestAppParts = {}): FastifyInstance {
  const runtime = { ...runtimeWithoutStore, ...parts.jobs }
  return buildApp({
    log: parts.log ?? silent,
    host: parts.host ?? '127.0.0.1',
    health: {
      version,
      state: parts.state ?? (() => 'serving'),
      storeTrouble: parts.storeTrouble ?? (() => undefined),
    },
    machines: {
      charts: builtInCharts,
      drawings: parts.drawings ?? plainDrawings,
      populations: () => ({ process: servingPopulation() }),
    },
    jobs: runtime,
    stats: { runtime, throughput: { endedLastMinute: 0 } },
    events: { feed: new EventFeed(runtime, new VirtualClock()), jobs: runtime },
  })
}
