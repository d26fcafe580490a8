import type { DeadLetter } from './dead-letters.ts'
import { TypedEvents } from './typed-events.ts'

interface About {
  readonly kind: string
  readonly key: string
  readonly at: number
}

/** Idle too long, least recently used over the cap, or its machine is `asleep` until it is started. */
export type EvictionReason = 'idle' | 'cap' | 'asked'

/** Everything the host tells the world; logs, metrics, the inspector and tests subscribe. */
export interface HostEventMap {
  'actor.activated': About & { readonly from: 'input' | 'snapshot' }
  'actor.finished': About & { readonly state: string; readonly output: unknown }
  'actor.evicted': About & { readonly reason: EvictionReason }
  'actor.crashed': About & {
    readonly error: unknown
    /** The event or command it crashed on, or null when it crashed while starting. */
    readonly cause: { readonly type: string } | null
  }
  'actor.restarted': About & { readonly crashes: number }
  'actor.quarantined': About & { readonly error: unknown; readonly crashes: number }
  'actor.released': About
  'actor.fenced': About
  'letter.dead': DeadLetter
  'snapshot.discarded': About & { readonly reason: string; readonly text: string }
  'snapshots.unavailable': {
    readonly at: number
    readonly during: 'load' | 'write'
    readonly error: unknown
    readonly actors: number
  }
}

export type HostEventName = keyof HostEventMap

export class HostEvents extends TypedEvents<HostEventMap> {}
