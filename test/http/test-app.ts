import type { FastifyInstance } from 'fastify'
import pino from 'pino'
import { Population } from '../../src/actors/population.ts'
import { type AppParts, buildApp } from '../../src/http/app.ts'
import type { Drawings } from '../../src/runtime/drawings.ts'
import { machineCatalogue } from '../../src/runtime/machine-catalogue.ts'
import { version } from '../../src/runtime/version.ts'

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

export interface TestAppParts {
  readonly state?: () => string
  readonly drawings?: Drawings
  readonly host?: string
  readonly log?: AppParts['log']
}

export function testApp(parts: TestAppParts = {}): FastifyInstance {
  return buildApp({
    log: parts.log ?? silent,
    host: parts.host ?? '127.0.0.1',
    health: { version, state: parts.state ?? (() => 'serving') },
    machines: {
      charts: machineCatalogue(),
      drawings: parts.drawings ?? plainDrawings,
      populations: () => ({ process: servingPopulation() }),
    },
  })
}
