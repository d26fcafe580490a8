import type { DeadLetter } from './dead-letters.ts'

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
type Listener<N extends HostEventName> = (event: HostEventMap[N]) => void

/** Hints, not commands: a listener that throws harms nobody and is reported to `onListenerError`. */
export class HostEvents {
  readonly #listeners = new Map<HostEventName, Set<Listener<never>>>()
  readonly #onListenerError: (error: unknown) => void

  constructor(onListenerError: (error: unknown) => void) {
    this.#onListenerError = onListenerError
  }

  on<N extends HostEventName>(name: N, listener: Listener<N>): () => void {
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners)
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
    }
  }

  /** The event is built only when somebody listens: most of these happen once per job. */
  emit<N extends HostEventName>(name: N, build: () => HostEventMap[N]): void {
    const listeners = this.#listeners.get(name)
    if (!listeners || listeners.size === 0) return
    const event = build()
    for (const listener of listeners) this.tell(listener as Listener<N>, event)
  }

  /** What the listener throws is reported and goes no further. */
  tell<T>(listener: (event: T) => void, event: T): void {
    try {
      listener(event)
    } catch (error) {
      this.#onListenerError(error)
    }
  }
}
