import type { Cancel, Clock } from '../actors/ports.ts'

/**
 * One Ctrl+C under `npm start` arrives twice: from the terminal, and passed on by npm. What comes
 * this soon after the last signal is the same wish, or no one could ever ask politely.
 */
const ECHO_MS = 500

const stopSignals = ['SIGINT', 'SIGTERM'] as const

export interface SignalSource {
  on(signal: NodeJS.Signals, listener: () => void): unknown
  off(signal: NodeJS.Signals, listener: () => void): unknown
}

/** Calls `request` for each wish to stop, until cancelled. */
export function onStopSignal(
  source: SignalSource,
  clock: Pick<Clock, 'now'>,
  request: (reason: string) => void,
): Cancel {
  let heardAt = Number.NEGATIVE_INFINITY
  const listeners = stopSignals.map((signal) => {
    const listener = () => {
      const at = clock.now()
      if (at - heardAt > ECHO_MS) request(signal)
      heardAt = at
    }
    source.on(signal, listener)
    return () => source.off(signal, listener)
  })
  return () => {
    for (const stopListening of listeners) stopListening()
  }
}
