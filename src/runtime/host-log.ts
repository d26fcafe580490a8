import type { ActorHost } from '../actors/host.ts'
import type { HostEventName } from '../actors/host-events.ts'

export type LogCall = (fields: object, message: string) => void
export type Log = Readonly<Record<'info' | 'warn' | 'error', LogCall>>

/** What an operator should read of a host's events, and how urgently. */
const urgency: Partial<Record<HostEventName, keyof Log>> = {
  'actor.crashed': 'error',
  'actor.quarantined': 'error',
  'actor.restarted': 'warn',
  'actor.fenced': 'warn',
  'letter.dead': 'warn',
  'snapshot.discarded': 'warn',
  'snapshots.unavailable': 'error',
}

/** Writes these events to the log under their own names. */
export function logHostEvents(host: ActorHost, log: Log): void {
  for (const name of Object.keys(urgency) as HostEventName[]) {
    const level = urgency[name]
    if (!level) continue
    host.on(name, (event) => {
      const { error, ...fields } = { error: undefined, ...event }
      log[level](error === undefined ? fields : { ...fields, err: error }, name)
    })
  }
}
