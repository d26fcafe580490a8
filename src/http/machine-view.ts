import type { Population } from '../actors/population.ts'
import type { Chart, ChartState } from '../machines/chart.ts'

/** The actors of each machine, by the machine's id; a machine that nobody runs here has none. */
export type Populations = Readonly<Record<string, Population>>

export interface PopulationView {
  /** How many actors are in each state now. */
  readonly states: Readonly<Record<string, number>>
  /** How many steps they have made since the start. */
  readonly transitions: number
}

export function populationView(id: string, populations: Populations): PopulationView | null {
  const population = populations[id]
  return population ? { states: population.states, transitions: population.transitions } : null
}

export function machineSummary(chart: Chart) {
  const { id, version, description, transitions } = chart
  return {
    id,
    version,
    description,
    stateCount: statesOf(chart).length,
    transitionCount: transitions.length,
    links: machineLinks(id),
  }
}

export function machineView(chart: Chart, populations: Populations) {
  return {
    ...chart,
    population: populationView(chart.id, populations),
    links: machineLinks(chart.id),
  }
}

export interface MachineLinks {
  readonly self: string
  readonly drawing: string
}

export function machineLinks(id: string): MachineLinks {
  const self = `/v1/machines/${encodeURIComponent(id)}`
  return { self, drawing: `${self}/drawing.svg` }
}

/** Without the root, which is the machine itself. */
export function statesOf({ states }: Chart): ChartState[] {
  return states.filter(({ parent }) => parent !== null)
}
