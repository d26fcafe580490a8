import type {
  AnyEventObject,
  AnyMachineSnapshot,
  AnyTransitionDefinition,
  MachineContext,
} from 'xstate'

type Reference = string | { readonly type: string; readonly params?: unknown }
type Predicate = (args: object, params: unknown) => boolean

/** `and`, `or`, `not` and `stateIn` bring their own way of being asked. */
type BuiltIn = Predicate & {
  readonly check?: (snapshot: AnyMachineSnapshot, args: object, guard: BuiltIn) => boolean
}

/** Asks a guard as XState does: by name, by name with parameters, inline, or one of its own. */
export function passes(
  guard: unknown,
  context: MachineContext,
  event: AnyEventObject,
  snapshot: AnyMachineSnapshot,
): boolean {
  if (typeof guard === 'function') return ask(guard as BuiltIn, undefined, context, event, snapshot)
  const reference = guard as Reference
  const name = typeof reference === 'string' ? reference : reference.type
  const known: unknown = snapshot.machine.implementations.guards[name]
  if (!known) throw new Error(`The machine has no guard '${name}'.`)
  if (typeof known !== 'function') return passes(known, context, event, snapshot)
  const given = typeof reference === 'string' ? undefined : reference.params
  const params = typeof given === 'function' ? given({ context, event }) : given
  return ask(known as BuiltIn, params, context, event, snapshot)
}

/** The first whose guard passes; what a guard throws comes with the place where it stood. */
export function firstPassing<T extends { readonly transition: AnyTransitionDefinition }>(
  candidates: readonly T[],
  event: AnyEventObject,
  snapshot: AnyMachineSnapshot,
): T | undefined {
  for (const candidate of candidates) {
    const { guard, source, eventType } = candidate.transition
    if (guard === undefined) return candidate
    try {
      if (passes(guard, snapshot.context, event, snapshot)) return candidate
    } catch (error) {
      // Word for word what XState says, so that nobody has to know which of the two was asked.
      if (eventType === '') throw error
      const name = typeof guard === 'function' ? undefined : (guard as { type?: string }).type
      const named = typeof guard === 'string' ? guard : name
      throw new Error(
        `Unable to evaluate guard ${named ? `'${named}' ` : ''}in transition for event '${event.type}' in state node '${source.id}':\n${(error as Error).message}`,
      )
    }
  }
  return undefined
}

function ask(
  guard: BuiltIn,
  params: unknown,
  context: MachineContext,
  event: AnyEventObject,
  snapshot: AnyMachineSnapshot,
): boolean {
  const args = { context, event }
  return guard.check ? guard.check(snapshot, args, guard) : guard(args, params)
}
