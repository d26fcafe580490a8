import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * A loopback port that was free a moment ago. Somebody may take it before it is used: whoever
 * starts a server on it goes through `onFreePort`.
 */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  if (address === null || typeof address === 'string') throw new Error('no TCP port was given')
  return address.port
}

const TRIES_MAX = 5

/** Starts on a free port, and on another one when the first was lost to somebody quicker. */
export async function onFreePort<T>(
  start: (port: number) => Promise<T>,
  choose: () => Promise<number> = freePort,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    const port = await choose()
    try {
      return await start(port)
    } catch (error) {
      const taken = error instanceof Error && error.message.includes('Address already in use')
      if (!taken || tries === TRIES_MAX) throw error
    }
  }
}
