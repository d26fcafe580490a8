type Listener<T> = (event: T) => void

/** Hints, not commands: a listener that throws harms nobody and is reported to `onListenerError`. */
export class TypedEvents<EventMap> {
  readonly #listeners = new Map<keyof EventMap, Set<Listener<never>>>()
  readonly #onListenerError: (error: unknown) => void

  constructor(onListenerError: (error: unknown) => void) {
    this.#onListenerError = onListenerError
  }

  on<N extends keyof EventMap>(name: N, listener: Listener<EventMap[N]>): () => void {
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners)
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
    }
  }

  /** The event is built only when somebody listens: most of these happen once per job. */
  emit<N extends keyof EventMap>(name: N, build: () => EventMap[N]): void {
    const listeners = this.#listeners.get(name)
    if (!listeners || listeners.size === 0) return
    const event = build()
    for (const listener of listeners) this.tell(listener as Listener<EventMap[N]>, event)
  }

  /** What the listener throws is reported and goes no further. */
  tell<T>(listener: Listener<T>, event: T): void {
    try {
      listener(event)
    } catch (error) {
      this.#onListenerError(error)
    }
  }
}
