/**
 * The actions a machine of ours may have, made ready to run once: `assign`, `emit`, `raise` without
 * a delay, and `enqueueActions` of these.
 */
import type {
  AnyActorRef,
  AnyActorScope,
  AnyEventObject,
  AnyMachineSnapshot,
  AnyStateMachine,
  EventObject,
  MachineContext,
} from 'xstate'
import { passes } from './machine-guards.ts'

/** One macrostep under way: what its actions see, and what they leave behind. */
export interface ActionRun {
  context: MachineContext
  commands: EventObject[] | undefined
  raised: AnyEventObject[] | undefined
  readonly self: AnyActorRef
  readonly system: AnyActorScope['system']
}

/** `snapshot` is the one before the step, as XState shows it to guards. */
export type ReadyAction = (
  run: ActionRun,
  event: AnyEventObject,
  snapshot: AnyMachineSnapshot,
) => void

type Expression = (args: object, params: unknown) => unknown
type Params = (run: ActionRun, event: AnyEventObject) => unknown

/** XState's own actions carry what they were made of. */
interface BuiltIn {
  readonly type: string
  readonly assignment?: unknown
  readonly event?: unknown
  readonly delay?: unknown
  readonly collect?: unknown
}

/** Undefined when it is not one that machines of ours may have. */
export function readyAction(action: unknown, machine: AnyStateMachine): ReadyAction | undefined {
  const found = typeof action === 'function' ? action : implementationOf(action, machine)
  if (!found || !('resolve' in found)) return undefined
  const { type, assignment, event, delay, collect } = found as unknown as BuiltIn
  const params = paramsOf(action)
  switch (type) {
    case 'xstate.assign':
      return assigning(assignment, params)
    case 'xstate.emit':
      return emitting(event, params)
    case 'xstate.raise':
      return delay === undefined ? raising(event, params) : undefined
    case 'xstate.enqueueActions':
      return enqueueing(collect as Expression, params, machine)
    default:
      return undefined
  }
}

export function refusal(machine: AnyStateMachine, type: string): Error {
  return new Error(
    `Machine '${machine.id}' tried to run the action '${type}'. Machines only assign, raise and emit: put the work into a performer and emit a command that asks for it.`,
  )
}

function implementationOf(
  action: unknown,
  { implementations }: AnyStateMachine,
): object | undefined {
  const name = typeof action === 'string' ? action : (action as BuiltIn).type
  return implementations.actions[name] as object | undefined
}

function paramsOf(action: unknown): Params {
  const given = typeof action === 'object' && action && 'params' in action && action.params
  if (!given) return () => undefined
  if (typeof given !== 'function') return () => given
  return ({ context }, event) => given({ context, event })
}

function assigning(assignment: unknown, params: Params): ReadyAction {
  if (typeof assignment === 'function')
    return (run, event) => {
      const update = assignment(assignArgs(run, event), params(run, event))
      run.context = { ...run.context, ...update }
    }
  const fields = Object.entries(assignment as object)
  return (run, event) => {
    const args = assignArgs(run, event)
    const given = params(run, event)
    const next = { ...run.context }
    for (const [key, value] of fields)
      next[key] = typeof value === 'function' ? value(args, given) : value
    run.context = next
  }
}

function emitting(command: unknown, params: Params): ReadyAction {
  const commandOf = expressed<EventObject>(command, params)
  return (run, event) => {
    run.commands ??= []
    run.commands.push(commandOf(run, event))
  }
}

function raising(raised: unknown, params: Params): ReadyAction {
  const raisedBy = expressed<AnyEventObject>(raised, params)
  return (run, event) => {
    run.raised ??= []
    run.raised.push(raisedBy(run, event))
  }
}

function enqueueing(collect: Expression, params: Params, machine: AnyStateMachine): ReadyAction {
  return (run, event, snapshot) => {
    const { context } = run
    const actions: ReadyAction[] = []
    const enqueue = (action: unknown) => {
      const ready = readyAction(action, machine)
      if (!ready) throw refusal(machine, nameOf(action))
      actions.push(ready)
    }
    enqueue.assign = (assignment: unknown) => actions.push(assigning(assignment, noParams))
    enqueue.emit = (command: unknown) => actions.push(emitting(command, noParams))
    enqueue.raise = (raised: unknown, options?: { readonly delay?: unknown }) => {
      if (options?.delay !== undefined) throw refusal(machine, 'xstate.raise')
      actions.push(raising(raised, noParams))
    }
    const check = (guard: unknown) => passes(guard, context, event, snapshot)
    collect({ ...argsOf(run, event), enqueue, check }, params(run, event))
    for (const action of actions) action(run, event, snapshot)
  }
}

function expressed<T>(
  given: unknown,
  params: Params,
): (run: ActionRun, event: AnyEventObject) => T {
  if (typeof given !== 'function') return () => given as T
  return (run, event) => given(argsOf(run, event), params(run, event))
}

function argsOf({ context, self, system }: ActionRun, event: AnyEventObject) {
  return { context, event, self, system }
}

function assignArgs({ context, self, system }: ActionRun, event: AnyEventObject) {
  return { context, event, self, system, spawn }
}

/** Stands where XState offers to spawn. */
export function spawn(): never {
  throw new Error('Machines spawn no actors: emit a command that asks for the work.')
}

function noParams(): undefined {
  return undefined
}

function nameOf(action: unknown): string {
  if (typeof action === 'string') return action
  const { type, name } = action as { readonly type?: string; readonly name?: string }
  return type ?? (name || '(anonymous)')
}
