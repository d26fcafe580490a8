import type { FastifyInstance } from 'fastify'
import type { Clock } from '../actors/ports.ts'
import { bracketed } from './host-guard.ts'

export interface Address {
  readonly host: string
  readonly port: number
}

/** Listens and gives the URL; a failure says what the operator can do about it. */
export async function listen(app: FastifyInstance, { host, port }: Address): Promise<string> {
  try {
    await app.listen({ host, port })
  } catch (cause) {
    throw new Error(adviceOn(cause, { host, port }), { cause })
  }
  const [bound] = app.addresses()
  return urlOf({ host, port: typeof bound === 'object' ? bound.port : port })
}

export function urlOf({ host, port }: Address): string {
  return `http://${bracketed(host)}:${port}`
}

/** How long answers under way may take once the service closes. */
const FAREWELL_MS = 1_000

/** Answers whom it can, then cuts off whoever is left: nobody may hold up the end of a process. */
export async function closeApp(app: FastifyInstance, clock: Clock): Promise<void> {
  const cancel = clock.wakeAt(clock.now() + FAREWELL_MS, () => app.server.closeAllConnections())
  await app.close()
  cancel()
}

function adviceOn(error: unknown, { host, port }: Address): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is taken: end what uses it, or set DECORUM_PORT to another port (0 takes any free one).`
    case 'EACCES':
      return `Port ${port} is reserved: set DECORUM_PORT to a port above 1023.`
    case 'EADDRNOTAVAIL':
      return `This machine has no address ${host}: set DECORUM_HOST to 127.0.0.1.`
    default:
      return `Cannot listen on port ${port} of ${host} (${error instanceof Error ? error.message : error}): set DECORUM_HOST and DECORUM_PORT to something else.`
  }
}
