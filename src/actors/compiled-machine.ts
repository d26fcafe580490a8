/**
 * A machine's steps, worked out once and then only carried out.
 *
 * Which transition an event takes depends on the state, the event's type and the guards; which
 * actions then run in which order, and which state follows, is the same every time. XState works it
 * out anew at every step; here it is asked once for each transition (see rehearsal.ts), and what it
 * answers is kept. The prover compares every step it walks with XState's own.
 * (docs/decisions/0006-steps-are-compiled.md)
 */
import type {
  AnyActorScope,
  AnyEventObject,
  AnyMachineSnapshot,
  AnyStateMachine,
  AnyStateNode,
  AnyTransitionDefinition,
  EventObject,
  MachineContext,
} from 'xstate'
import { type ActionRun, type ReadyAction, readyAction, spawn } from './machine-actions.ts'
import { firstPassing } from './machine-guards.ts'
import { nodesInOrder, Rehearsal, type Rehearsed } from './rehearsal.ts'

/** Where a machine can be: everything about a snapshot but its context. */
interface Configuration {
  readonly status: 'active' | 'done'
  readonly nodes: AnyStateNode[]
  readonly value: AnyMachineSnapshot['value']
  readonly tags: AnyMachineSnapshot['tags']
  readonly history: History
  readonly rehearsed: AnyMachineSnapshot
  readonly always: readonly Candidate[]
  /** By event type, as far as it has been asked for. */
  readonly candidates: Map<string, readonly Candidate[]>
}

type History = Readonly<Record<string, AnyStateNode[]>>

/** A transition that may be taken in one configuration. */
interface Candidate {
  readonly transition: AnyTransitionDefinition
  /** Worked out when it is first taken. */
  plan: Plan | undefined
}

interface Plan {
  readonly actions: readonly ReadyAction[]
  readonly next: Configuration
  /** No state is left or entered. */
  readonly isStill: boolean
  /** The final state that was entered: the state around it, or the world, hears of it. */
  readonly finished: AnyStateNode | undefined
}

export interface CompiledStep {
  readonly snapshot: AnyMachineSnapshot
  readonly commands: readonly EventObject[]
}

const NOTHING: readonly EventObject[] = Object.freeze([])
const NO_CHILDREN = Object.freeze({})

/** Whether a machine is made only of what can be compiled; any other is left to XState as a whole. */
export function isCompilable(machine: AnyStateMachine): boolean {
  const nodes = nodesInOrder(machine)
  const hasFarewells = nodes.some(({ exit }) => exit.length > 0)
  return (
    // XState makes the output before the last exit actions: not worth a plan of its own.
    !(hasFarewells && machine.root.output !== undefined) &&
    nodes.every(
      ({ type, invoke, config, transitions, entry, exit, initial, always = [] }) =>
        type !== 'parallel' &&
        invoke.length === 0 &&
        config.after === undefined &&
        config.route === undefined &&
        ![...transitions.keys()].some((descriptor) => descriptor.includes('*')) &&
        [
          ...entry,
          ...exit,
          ...(initial?.actions ?? []),
          ...actionsOf(transitions),
          ...actionsOf([['', always]]),
        ].every((action) => readyAction(action, machine) !== undefined),
    )
  )
}

function actionsOf(transitions: Iterable<[string, readonly AnyTransitionDefinition[]]>): unknown[] {
  return [...transitions].flatMap(([, each]) => each.flatMap(({ actions }) => actions))
}

export class CompiledMachine {
  readonly #machine: AnyStateMachine
  readonly #scope: AnyActorScope
  readonly #nodes: readonly AnyStateNode[]
  readonly #rehearsal: Rehearsal
  readonly #configurations = new Map<string, Configuration>()
  /** By the very list of nodes that all its snapshots share. */
  readonly #byNodes = new WeakMap<object, Configuration>()
  readonly #beginning: Plan

  constructor(machine: AnyStateMachine, scope: AnyActorScope) {
    this.#machine = machine
    this.#scope = scope
    this.#nodes = nodesInOrder(machine)
    this.#rehearsal = new Rehearsal(machine)
    this.#beginning = this.#planned(this.#rehearsal.begin())
  }

  begin(input: unknown): CompiledStep {
    const { self } = this.#scope
    const { context } = this.#machine.config
    const given =
      typeof context === 'function' ? { ...context({ input, self, spawn } as never) } : context
    const run = this.#run((given ?? {}) as MachineContext)
    const event = { type: 'xstate.init', input }
    const before = this.#snapshot(this.#beginning.next, run.context, undefined)
    return this.#settled(this.#carriedOut(this.#beginning, before, event, run), event, run)
  }

  step(before: AnyMachineSnapshot, event: AnyEventObject): CompiledStep {
    const run = this.#run(before.context)
    const chosen = this.#choice(before, event)
    const snapshot = chosen ? this.#taken(chosen, before, event, run) : before
    return this.#settled(snapshot, event, run)
  }

  /** A snapshot that XState has made, with the parts that all of its kind can share. */
  adopt(snapshot: AnyMachineSnapshot): AnyMachineSnapshot {
    return this.#snapshot(this.#configurationOf(snapshot), snapshot.context, snapshot.output)
  }

  /** What follows of itself: transitions without an event, then what was raised, until it rests. */
  #settled(snapshot: AnyMachineSnapshot, event: AnyEventObject, run: ActionRun): CompiledStep {
    const { maxIterations = Number.POSITIVE_INFINITY } = this.#machine.options
    let isMoved = true
    for (let iterations = 1; snapshot.status === 'active'; iterations++) {
      if (iterations > maxIterations)
        throw new Error(
          `Infinite loop: machine '${this.#machine.id}' has taken more than ${maxIterations} steps of itself after '${event.type}'.`,
        )
      const eventless: Candidate | undefined = isMoved
        ? this.#eventlessChoice(snapshot, event)
        : undefined
      if (!eventless) {
        const raised = run.raised?.shift()
        if (!raised) break
        event = raised
      }
      const chosen: Candidate | undefined = eventless ?? this.#choice(snapshot, event)
      const next: AnyMachineSnapshot = chosen ? this.#taken(chosen, snapshot, event, run) : snapshot
      // One that changed nothing would be taken for ever.
      isMoved = !eventless || next !== snapshot
      snapshot = next
    }
    return { snapshot, commands: run.commands ?? NOTHING }
  }

  #choice(snapshot: AnyMachineSnapshot, event: AnyEventObject): Candidate | undefined {
    const { candidates, nodes } = this.#configurationOf(snapshot)
    let known = candidates.get(event.type)
    if (!known) {
      known = candidatesIn(nodes, ({ transitions }) => transitions.get(event.type))
      candidates.set(event.type, known)
    }
    return firstPassing(known, event, snapshot)
  }

  #eventlessChoice(snapshot: AnyMachineSnapshot, event: AnyEventObject): Candidate | undefined {
    const { always } = this.#configurationOf(snapshot)
    return always.length === 0 ? undefined : firstPassing(always, event, snapshot)
  }

  #taken(
    chosen: Candidate,
    before: AnyMachineSnapshot,
    event: AnyEventObject,
    run: ActionRun,
  ): AnyMachineSnapshot {
    if (!chosen.plan) {
      const { rehearsed } = this.#configurationOf(before)
      chosen.plan = this.#planned(this.#rehearsal.take(rehearsed, chosen.transition), rehearsed)
    }
    return this.#carriedOut(chosen.plan, before, event, run)
  }

  #carriedOut(
    { actions, next, isStill, finished }: Plan,
    before: AnyMachineSnapshot,
    event: AnyEventObject,
    run: ActionRun,
  ): AnyMachineSnapshot {
    for (const action of actions) action(run, event, before)
    const output = finished && this.#finish(finished, next, event, run)
    if (isStill && run.context === before.context) return before
    return this.#snapshot(next, run.context, output)
  }

  /** The machine's output at its end; before that the state around the final one is told. */
  #finish(
    final: AnyStateNode,
    { status }: Configuration,
    event: AnyEventObject,
    run: ActionRun,
  ): unknown {
    const { context, self } = run
    const output = resolved(final.output, context, event, self)
    if (status === 'active') {
      run.raised ??= []
      run.raised.push({ type: `xstate.done.state.${final.parent?.id}`, output })
      return undefined
    }
    const done = { type: `xstate.done.state.${final.id}`, output }
    return resolved(this.#machine.root.output, context, done, self)
  }

  #planned({ snapshot, actions, isDone }: Rehearsed, from?: AnyMachineSnapshot): Plan {
    const next = this.#imitated(snapshot)
    const last = next.nodes.find(({ type }) => type === 'final')
    return {
      actions: actions.map((action) => readyAction(action, this.#machine)!),
      next,
      isStill: snapshot === from,
      finished: isDone || next.status === 'done' ? last : undefined,
    }
  }

  #configurationOf(snapshot: AnyMachineSnapshot): Configuration {
    return (
      this.#byNodes.get(snapshot._nodes) ??
      this.#configurations.get(keyOf(snapshot.status, snapshot._nodes, snapshot.historyValue)) ??
      this.#imitated(this.#rehearsal.imitate(snapshot))
    )
  }

  /** The configuration that a state of the rehearsal stands for. */
  #imitated(rehearsed: AnyMachineSnapshot): Configuration {
    const real = (nodes: readonly AnyStateNode[]) => nodes.map(({ order }) => this.#nodes[order]!)
    const nodes = real(rehearsed._nodes)
    const history = Object.fromEntries(
      Object.entries(rehearsed.historyValue as History).map(([name, kept]) => [
        this.#rehearsal.originalId(name),
        real(kept),
      ]),
    )
    const status = rehearsed.status as Configuration['status']
    const key = keyOf(status, nodes, history)
    const known = this.#configurations.get(key)
    if (known) return known
    const configuration = {
      status,
      nodes,
      value: rehearsed.value,
      tags: rehearsed.tags,
      history,
      rehearsed,
      always: candidatesIn(nodes, ({ always }) => always),
      candidates: new Map(),
    }
    this.#configurations.set(key, configuration)
    this.#byNodes.set(nodes, configuration)
    return configuration
  }

  #run(context: MachineContext): ActionRun {
    const { self, system } = this.#scope
    return { context, commands: undefined, raised: undefined, self, system }
  }

  /** As XState builds it, field for field: whoever looks at it sees one of XState's own. */
  #snapshot(
    { status, nodes, value, tags, history, rehearsed }: Configuration,
    context: MachineContext,
    output: unknown,
  ): AnyMachineSnapshot {
    return {
      status,
      output,
      error: undefined,
      machine: this.#machine,
      context,
      _nodes: nodes,
      value,
      tags,
      children: NO_CHILDREN,
      historyValue: history,
      matches: rehearsed.matches,
      hasTag: rehearsed.hasTag,
      can: rehearsed.can,
      getMeta: rehearsed.getMeta,
      toJSON: rehearsed.toJSON,
    } as AnyMachineSnapshot
  }
}

/** In the order in which XState asks: from the innermost state outwards. */
function candidatesIn(
  nodes: readonly AnyStateNode[],
  transitionsOf: (node: AnyStateNode) => readonly AnyTransitionDefinition[] | undefined,
): readonly Candidate[] {
  return nodes
    .toSorted((a, b) => b.order - a.order)
    .flatMap((node) => transitionsOf(node) ?? [])
    .map((transition) => ({ transition, plan: undefined }))
}

function keyOf(status: string, nodes: readonly AnyStateNode[], history: History): string {
  const kept = Object.entries(history).map(([id, each]) => `${id}=${orders(each)}`)
  return `${status}:${orders(nodes)}:${kept.join(':')}`
}

function orders(nodes: readonly AnyStateNode[]): string {
  return nodes.map(({ order }) => order).join()
}

function resolved(
  output: unknown,
  context: MachineContext,
  event: AnyEventObject,
  self: ActionRun['self'],
): unknown {
  return typeof output === 'function' ? output({ context, event, self }) : output
}
