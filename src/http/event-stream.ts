import type { ServerResponse } from 'node:http'
import { EVENT_STREAM } from './problem.ts'
import { securityHeaders } from './security-headers.ts'

export const streamLimits = {
  streamsMax: 1_000,
  /** What one client may leave unread before it is let go. */
  waitingEventsMax: 1_000,
  waitingBytesMax: 256 * 1024,
  /** So that proxies and clients know the connection is still there. */
  pingMs: 15_000,
} as const

const headers = {
  ...securityHeaders,
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // The connection ends with the stream: a process that stops has nothing left to wait for.
  connection: 'close',
}

/**
 * One client's stream of Server-Sent Events. Nothing is kept for a client that does not keep up:
 * its connection is cut, and what it should know it finds by asking again.
 */
export class EventStream {
  readonly #response: ServerResponse
  #waiting = 0

  constructor(response: ServerResponse, onEnd: () => void) {
    this.#response = response
    response.once('close', onEnd)
    response.writeHead(EVENT_STREAM, headers)
    response.flushHeaders()
  }

  /** Takes a complete frame: several clients are sent the same one. */
  write(frame: string): void {
    const response = this.#response
    if (response.writableEnded || response.destroyed) return
    const { waitingEventsMax, waitingBytesMax } = streamLimits
    if (this.#waiting >= waitingEventsMax || response.writableLength >= waitingBytesMax) {
      response.destroy()
      return
    }
    this.#waiting++
    response.write(frame, () => {
      this.#waiting--
    })
  }

  /** After what has been written. */
  end(): void {
    this.#response.end()
  }
}

export const pingFrame = ': ping\n\n'

/** JSON has no line breaks of its own, so one `data` line holds it. */
export function eventFrame(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data, withErrors)}\n\n`
}

function withErrors(_key: string, value: unknown): unknown {
  return value instanceof Error ? value.message : value
}
