/**
 * Learns from XState what a transition does, without a context and without doing anything.
 *
 * A rehearsal is the same chart with the same states, targets, history and order, in which every
 * action is only a cue and every transition has an event of its own and no guard. XState plays it
 * and says which cues it gives in which order and which states it ends in. So the rules of entering
 * and leaving states stay XState's alone.
 */
import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyStateNode,
  type AnyTransitionDefinition,
  createMachine,
  getInitialMicrosteps,
  getMicrosteps,
} from 'xstate'

/** One microstep as it was rehearsed; states are those of the rehearsal, in the original's order. */
export interface Rehearsed {
  readonly snapshot: AnyMachineSnapshot
  /** The original's actions, as they stand in its definition, in the order of execution. */
  readonly actions: readonly unknown[]
  /** A final state inside another one was entered, and XState tells the outer one with an event. */
  readonly isDone: boolean
}

export class Rehearsal {
  readonly #chart: AnyStateMachine
  readonly #eventTypes = new Map<AnyTransitionDefinition, string>()
  readonly #nodes: readonly AnyStateNode[]
  /** History goes by ids, in the original as in the rehearsal. */
  readonly #names: ReadonlyMap<string, string>
  readonly #originalIds: ReadonlyMap<string, string>

  constructor(machine: AnyStateMachine) {
    this.#chart = createMachine(this.#stateConfig(machine.root))
    this.#nodes = nodesInOrder(this.#chart)
    const originals = nodesInOrder(machine)
    this.#names = new Map(originals.map((node) => [node.id, nameOf(node)]))
    this.#originalIds = new Map(originals.map((node) => [nameOf(node), node.id]))
  }

  begin(): Rehearsed {
    return rehearsed(getInitialMicrosteps(this.#chart))
  }

  take(from: AnyMachineSnapshot, transition: AnyTransitionDefinition): Rehearsed {
    const type = this.#eventTypes.get(transition)!
    return rehearsed(getMicrosteps(this.#chart, from, { type } as never))
  }

  /** The original's snapshot, in the rehearsal's states. */
  imitate({ value, _nodes, historyValue }: AnyMachineSnapshot): AnyMachineSnapshot {
    const history = Object.entries(historyValue as Record<string, AnyStateNode[]>)
    return {
      ...this.#chart.resolveState({ value } as never),
      // As they are, not as they would be resolved: the order of tags and of history hangs on it.
      _nodes: _nodes.map(({ order }) => this.#nodes[order]!),
      historyValue: Object.fromEntries(
        history.map(([id, nodes]) => [
          this.#names.get(id)!,
          nodes.map(({ order }) => this.#nodes[order]!),
        ]),
      ),
    } as AnyMachineSnapshot
  }

  /** The id in the original of a state that the rehearsal knows by `name`. */
  originalId(name: string): string {
    return this.#originalIds.get(name)!
  }

  #stateConfig(node: AnyStateNode): object {
    const transitions = [...node.transitions.values(), node.always ?? []].flat()
    return {
      id: nameOf(node),
      type: node.type,
      tags: node.tags,
      entry: node.entry.map(cue),
      exit: node.exit.map(cue),
      on: Object.fromEntries(transitions.map((each) => this.#transitionConfig(each))),
      states: Object.fromEntries(
        Object.entries(node.states).map(([key, child]) => [key, this.#stateConfig(child)]),
      ),
      ...(node.type === 'compound' && {
        initial: { target: node.initial.target[0]!.key, actions: node.initial.actions.map(cue) },
      }),
      ...(node.type === 'history' && { history: node.history, target: node.config.target }),
    }
  }

  #transitionConfig(transition: AnyTransitionDefinition): [string, object] {
    const type = `t${this.#eventTypes.size}`
    this.#eventTypes.set(transition, type)
    const { target, reenter, actions } = transition
    return [type, { target: target?.map(targetOf), reenter, actions: actions.map(cue) }]
  }
}

/** By the place in the document that both charts number alike. */
export function nodesInOrder({ root }: AnyStateMachine): AnyStateNode[] {
  const nodes: AnyStateNode[] = []
  const add = (node: AnyStateNode) => {
    nodes[node.order] = node
    for (const child of Object.values(node.states)) add(child)
  }
  add(root)
  return nodes
}

function rehearsed(microsteps: ReturnType<typeof getMicrosteps>): Rehearsed {
  const [[snapshot, cues], ...later] = microsteps as [
    (typeof microsteps)[number],
    ...typeof microsteps,
  ]
  return {
    snapshot,
    actions: cues.map(({ params }) => (params as unknown as Cue['params']).action),
    // Nothing in a rehearsal answers to it, but XState has gone through the motions.
    isDone: later.length > 0,
  }
}

interface Cue {
  readonly type: 'cue'
  readonly params: { readonly action: unknown }
}

function cue(action: unknown): Cue {
  return { type: 'cue', params: { action } }
}

/** Not its own id: XState would read a dot in it as the way to a child. */
function nameOf({ order }: AnyStateNode): string {
  return `s${order}`
}

function targetOf(node: AnyStateNode): string {
  return `#${nameOf(node)}`
}
