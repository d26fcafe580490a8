import { type MachineSnapshot, stateName } from './statechart.ts'

/**
 * Deadlines are data: by convention every context has `dueAt`, the next instant it waits for.
 * Throws on anything else: one NaN would put the timers of all actors out of order.
 */
export function deadlineOf(snapshot: MachineSnapshot): number | null {
  const dueAt: unknown = snapshot.context?.dueAt ?? null
  if (snapshot.status !== 'active' || dueAt === null) return null
  if (typeof dueAt === 'number' && !Number.isNaN(dueAt)) return dueAt
  throw new Error(`dueAt is ${dueAt} in '${stateName(snapshot.value)}', which is not an instant.`)
}

/** A machine that keeps a deadline it was told of would be woken for ever. */
export function assertDeadlineMoved(before: MachineSnapshot, after: MachineSnapshot): void {
  const kept = deadlineOf(after)
  if (kept !== null && kept === deadlineOf(before))
    throw new Error(`DUE was handled in '${stateName(before.value)}', but dueAt is still ${kept}.`)
}
