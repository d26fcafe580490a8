import type { Runtime } from '../runtime/runtime.ts'

/** Without these a node neither takes jobs nor keeps those it has. */
const vital: readonly string[] = ['claimer', 'heartbeat']

/** Why the store cannot be relied upon now, in words; undefined while all is well. */
export type StoreTrouble = () => string | undefined

export function watchStore(runtime: Pick<Runtime, 'on'>): StoreTrouble {
  const troubles = new Map<string, string>()
  runtime.on('duty.failed', ({ duty, error }) => {
    const why = error instanceof Error ? error.message : String(error)
    if (vital.includes(duty)) troubles.set(duty, `The ${duty} has failed. ${why}`)
  })
  runtime.on('duty.recovered', ({ duty }) => {
    troubles.delete(duty)
  })
  return () => troubles.values().next().value
}
