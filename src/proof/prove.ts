import { type InspectedStep, type Machine, statechartOf, stateName } from '../actors/statechart.ts'
import type { ProofFigures } from '../drawing/page.ts'
import { chartOf, transitionIds } from '../machines/chart.ts'
import { Judgement } from './judgement.ts'
import { observedMachine } from './observed-machine.ts'
import type { ProofSpec } from './proof-spec.ts'
import { replayWithCrashes } from './replay.ts'
import { type Walk, walk } from './walk.ts'

export interface Proof {
  readonly machine: Machine
  readonly figures: ProofFigures
  /** What is wrong, in words; empty when the machine is proved. */
  readonly problems: readonly string[]
}

export function prove(spec: ProofSpec): Proof {
  const { machine, guards } = observedMachine(spec.machine)
  const chart = chartOf(machine)
  const seen = new Sightings(transitionIds(machine))
  const statechart = statechartOf(machine)
  const judgement = new Judgement(statechart)
  judgement.begin(statechartOf(machine, 'xstate'), {
    ...spec.input,
    ...{ at: spec.startAt, roll: 0 },
  })
  const walked = walk(statechart, spec, (step, again) => {
    seen.note(step)
    judgement.step(step, again())
  })

  const plain = statechartOf(spec.machine)
  const replays = walked.paths.map((path) => replayWithCrashes(plain, spec, path))
  const visited = new Set([...seen.targets, ...[...walked.configurations.values()].flatMap(active)])
  const realStates = chart.states.filter(({ id, kind }) => id !== '' && kind !== 'history')
  const guardsBothWays = [...guards].filter(([, answers]) => answers.size === 2)

  return {
    machine: spec.machine,
    figures: {
      bounds: spec.bounds,
      configurations: walked.configurations.size,
      transitions: chart.transitions.length,
      transitionsTaken: seen.taken.size,
      guards: guards.size,
      guardsBothWays: guardsBothWays.length,
      paths: walked.paths.length,
      steps: walked.paths.reduce((sum, { events }) => sum + events.length, 0),
      crashReplays: replays.reduce((sum, { crashes }) => sum + crashes, 0),
      commands: seen.commands,
    },
    problems: [
      ...realStates
        .filter(({ id }) => !visited.has(id))
        .map(({ id }) => `state '${id}' is never reached`),
      ...chart.transitions
        .filter(({ id }) => !seen.taken.has(id))
        .map(({ id }) => `transition '${id}' is never taken`),
      ...[...guards]
        .filter(([, answers]) => answers.size < 2)
        .map(([name, answers]) => `guard '${name}' ${oneSided(answers)}`),
      ...[...seen.restless].map((state) => `state '${state}' keeps its deadline after DUE`),
      ...judgement.differences,
      ...deadEnds(walked),
      ...livelocks(walked),
      ...replays.flatMap(({ differences }) => differences),
    ],
  }
}

/** What was seen on the way: transitions, the states they led to, the commands they emitted. */
class Sightings {
  readonly taken = new Set<string>()
  readonly targets = new Set<string>()
  readonly commands = new Map<string, string[]>()
  /** States that a DUE left with the deadline they had: they would be woken for ever. */
  readonly restless = new Set<string>()
  readonly #ids: ReadonlyMap<object, string>

  constructor(ids: ReadonlyMap<object, string>) {
    this.#ids = ids
  }

  note({ event, before, snapshot, transitions, commands }: InspectedStep): void {
    const { dueAt } = before.context
    if (event.type === 'DUE' && dueAt !== null && snapshot.context.dueAt === dueAt)
      this.restless.add(stateName(before.value))
    for (const transition of transitions) {
      const id = this.#ids.get(transition)
      if (id === undefined) continue
      this.taken.add(id)
      for (const target of targetsOf(transition)) this.targets.add(target)
    }
    // A step's commands belong to the transition the event selected, the first one taken.
    const first = transitions[0] && this.#ids.get(transitions[0])
    if (first === undefined) return
    const known = this.commands.get(first) ?? []
    const types = commands.map(({ type }) => type).filter((type) => !known.includes(type))
    this.commands.set(first, [...known, ...new Set(types)])
  }
}

function targetsOf(transition: object): string[] {
  const { target } = transition as { target?: readonly { path: readonly string[] }[] }
  return (target ?? []).map(({ path }) => path.join('.'))
}

/** `working.fetching` is both `working` and `working.fetching`. */
function active({ state }: { state: string }): string[] {
  return state.split('+').flatMap((branch) => {
    const keys = branch.split('.')
    return keys.map((_, index) => keys.slice(0, index + 1).join('.'))
  })
}

function oneSided(answers: ReadonlySet<boolean>): string {
  if (answers.size === 0) return 'is never asked'
  return answers.has(true) ? 'is never false' : 'is never true'
}

/** Configurations that nothing leads out of although they are not at rest, one line per state. */
function deadEnds({ configurations, next }: Walk): string[] {
  const stuck = [...configurations].filter(
    ([key, { isAtRest }]) => !isAtRest && (next.get(key) ?? []).every((other) => other === key),
  )
  return distinct(stuck.map(([, { state }]) => `state '${state}' is a dead end`))
}

/** Configurations that move for ever without being able to come to rest, one line per state. */
function livelocks({ configurations, next }: Walk): string[] {
  const before = new Map<string, string[]>()
  for (const [key, others] of next) {
    for (const other of others) {
      const keys = before.get(other)
      if (keys) keys.push(key)
      else before.set(other, [key])
    }
  }
  const canRest = new Set<string>()
  const open = [...configurations].filter(([, { isAtRest }]) => isAtRest).map(([key]) => key)
  while (open.length > 0) {
    const key = open.pop()!
    if (canRest.has(key)) continue
    canRest.add(key)
    open.push(...(before.get(key) ?? []))
  }
  const restless = [...configurations].filter(([key]) => !canRest.has(key))
  return distinct(restless.map(([, { state }]) => `state '${state}' can never come to rest`))
}

function distinct(lines: readonly string[]): string[] {
  return [...new Set(lines)]
}
