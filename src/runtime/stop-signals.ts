import type { Cancel, Clock } from '../actors/ports.ts'

/**
 * Under `npm start` one Ctrl+C arrives twice where npm's shell gives way to Node: from the terminal,
 * and a millisecond later passed on by npm. What comes this soon after the last signal is the same
 * wish, or nobody could ask without insisting.
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
