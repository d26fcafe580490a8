import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate'

/**
 * A machine as plain data: what documents, drawings, the prover and the live inspector speak of.
 * Ids depend only on the machine's own definition, so that a drawing made yesterday still fits an
 * actor inspected today. An absent text (description, guard, version) is the empty string.
 */
export interface Chart {
  id: string
  version: string
  description: string
  /** The root first, then every state in document order. */
  states: ChartState[]
  transitions: ChartTransition[]
}

export interface ChartState {
  /** Dotted path below the root, `working.fetching`; the root itself is the empty string. */
  id: string
  key: string
  parent: string | null
  kind: 'atomic' | 'compound' | 'parallel' | 'final' | 'history'
  /** The child entered first; only compound states have one. */
  initial: string | null
  description: string
  tags: string[]
  entry: string[]
  exit: string[]
}

export interface ChartTransition {
  /** Source path, event and candidate index, `pacing:DUE:0`; unique within the machine. */
  id: string
  source: string
  /** Empty for an internal transition: the state is neither left nor entered again. */
  targets: string[]
  kind: 'event' | 'always' | 'done'
  /** The event's type; `done` for a finished state, empty for `always`. */
  event: string
  guard: string
  actions: string[]
  reenter: boolean
  description: string
}

export function chartOf(machine: AnyStateMachine): Chart {
  return {
    id: machine.id,
    version: machine.version ?? '',
    description: machine.root.description ?? '',
    states: nodesOf(machine.root).map(chartState),
    transitions: [...transitionIds(machine)].map(([transition, id]) =>
      chartTransition(transition, id),
    ),
  }
}

/**
 * The ids of `chartOf`, keyed by the very objects that `@xstate.microstep` inspection reports.
 * Throws when names with colons make two ids equal: everything downstream trusts their uniqueness.
 */
export function transitionIds(machine: AnyStateMachine): Map<AnyTransitionDefinition, string> {
  const ids = new Map(
    nodesOf(machine.root)
      .flatMap((node) => [...node.transitions.values(), node.always ?? []])
      .flatMap((candidates) =>
        candidates.map((transition, index) => [transition, transitionId(transition, index)]),
      ),
  )
  const seen = new Set<string>()
  for (const id of ids.values()) {
    if (seen.has(id)) throw new Error(`Machine "${machine.id}" has two transitions called "${id}"`)
    seen.add(id)
  }
  return ids
}

function nodesOf(node: AnyStateNode): AnyStateNode[] {
  return [node, ...Object.values(node.states).flatMap(nodesOf)]
}

function chartState(node: AnyStateNode): ChartState {
  return {
    id: pathOf(node),
    key: node.key,
    parent: node.parent ? pathOf(node.parent) : null,
    kind: node.type,
    initial: initialOf(node),
    description: node.description ?? '',
    tags: [...node.tags],
    entry: node.entry.map(actionName),
    exit: node.exit.map(actionName),
  }
}

function chartTransition(transition: AnyTransitionDefinition, id: string): ChartTransition {
  return {
    id,
    source: pathOf(transition.source),
    targets: (transition.target ?? []).map(pathOf),
    ...trigger(transition.eventType),
    guard: transition.guard === undefined ? '' : guardName(transition.guard),
    actions: transition.actions.map(actionName),
    reenter: transition.reenter,
    description: transition.description ?? '',
  }
}

function pathOf(node: AnyStateNode): string {
  return node.path.join('.')
}

function initialOf(node: AnyStateNode): string | null {
  const first = node.type === 'compound' ? node.initial.target[0] : undefined
  return first ? pathOf(first) : null
}

/** The at sign keeps an event that somebody calls `done` or `always` apart from XState's own. */
function transitionId(transition: AnyTransitionDefinition, index: number): string {
  const { kind, event } = trigger(transition.eventType)
  return `${pathOf(transition.source)}:${kind === 'event' ? event : `@${event || kind}`}:${index}`
}

const stateDone = 'xstate.done.state.'
const actorDone = 'xstate.done.actor.'

function trigger(eventType: string): Pick<ChartTransition, 'kind' | 'event'> {
  if (eventType === '') return { kind: 'always', event: '' }
  if (eventType.startsWith(stateDone)) return { kind: 'done', event: 'done' }
  if (eventType.startsWith(actorDone)) {
    return { kind: 'done', event: `done(${eventType.slice(actorDone.length)})` }
  }
  return { kind: 'event', event: eventType }
}

/** XState's own actions (`emit`, `assign`) carry their kind in `type`; other functions have no name worth showing. */
function actionName(action: unknown): string {
  return typeOf(action)?.replace(/^xstate\./, '') ?? '(inline)'
}

function guardName(guard: unknown): string {
  if (typeof guard !== 'function') return typeOf(guard) ?? '(inline)'
  if ('guards' in guard && Array.isArray(guard.guards)) {
    return `${guard.name}(${guard.guards.map(guardName).join(', ')})`
  }
  if ('stateValue' in guard) return `in(${stateValueText(guard.stateValue)})`
  return '(inline)'
}

function stateValueText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function typeOf(reference: unknown): string | undefined {
  if (typeof reference === 'string') return reference
  const isObject = typeof reference === 'object' || typeof reference === 'function'
  if (!isObject || reference === null || !('type' in reference)) return undefined
  return typeof reference.type === 'string' ? reference.type : undefined
}
