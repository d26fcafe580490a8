/**
 * Walks every configuration a machine can reach under small bounds, with `xstate/graph` as the
 * walker. What is walked is plain data: each step restores a configuration from JSON, so that rings
 * updated in place cannot leak from one branch into another, and restoring is proved on the way.
 */
import type { ActorLogic, Snapshot } from 'xstate'
import { getAdjacencyMap, getShortestPaths } from 'xstate/graph'
import {
  type InspectedStep,
  type MachineSnapshot,
  type StampedEvent,
  type Statechart,
  stateName,
} from '../actors/statechart.ts'
import type { ProofSpec } from './proof-spec.ts'

/** A machine's configuration at an instant. */
export type Configuration = Snapshot<unknown> & {
  readonly now: number
  readonly state: string
  readonly isAtRest: boolean
  /** The persisted state as JSON. */
  readonly text: string
}

export interface Path {
  readonly events: readonly StampedEvent[]
}

export interface Walk {
  readonly configurations: ReadonlyMap<string, Configuration>
  /** For each configuration, those one event away. */
  readonly next: ReadonlyMap<string, readonly string[]>
  /** The shortest path to each configuration. */
  readonly paths: readonly Path[]
}

/** Steps after which a walk is given up: the bounds are too wide, or the view keeps too much. */
export const STEPS_MAX = 1_000_000

export function walk(
  chart: Statechart,
  spec: ProofSpec,
  /** `again` is the configuration before the step, once more: rings are updated in place. */
  onStep: (step: InspectedStep, again: () => MachineSnapshot) => void,
): Walk {
  const configure = (snapshot: MachineSnapshot, now: number): Configuration => ({
    ...({ status: snapshot.status, output: undefined, error: undefined } as Snapshot<unknown>),
    now,
    state: stateName(snapshot.value),
    isAtRest: snapshot.status === 'done' || spec.rests.some((rest) => snapshot.matches(rest)),
    text: JSON.stringify(chart.persist(snapshot)),
  })
  const restore = ({ text }: Configuration) => chart.restore(JSON.parse(text))

  const logic: ActorLogic<Configuration, StampedEvent, unknown> = {
    getInitialSnapshot: () =>
      configure(chart.begin({ ...spec.input, at: spec.startAt, roll: 0 }).snapshot, spec.startAt),
    transition(from, event) {
      const step = chart.inspectedStep(restore(from), event)
      onStep(step, () => restore(from))
      return configure(step.snapshot, event.at)
    },
    getPersistedSnapshot: (configuration) => configuration,
  }
  const keyOf = (configuration: Configuration) => {
    const { value, context } = JSON.parse(configuration.text)
    return JSON.stringify([configuration.status, value, spec.view(context, configuration.now)])
  }
  const options = {
    events: (from: Configuration) =>
      from.status === 'active' ? [...spec.events(restore(from), from.now)] : [],
    serializeState: keyOf,
    limit: STEPS_MAX,
  }

  const adjacency = getAdjacencyMap(logic, options)
  const paths = getShortestPaths(logic, options).map(({ steps }) => ({
    events: steps.map(({ event }) => event).filter(({ type }) => type !== 'xstate.init'),
  }))
  const entries = Object.entries(adjacency)
  return {
    configurations: new Map(entries.map(([key, { state }]) => [key, state])),
    next: new Map(
      entries.map(([key, { transitions }]) => [
        key,
        Object.values<{ state: Configuration }>(transitions).map(({ state }) => keyOf(state)),
      ]),
    ),
    paths,
  }
}
