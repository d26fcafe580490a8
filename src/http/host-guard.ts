/**
 * Keeps other people's pages away from a service on loopback. A page that has its own name resolve
 * to 127.0.0.1 (DNS rebinding) still sends that name as Host; a page that calls us outright sends
 * where it comes from as Origin.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { isLoopback } from '../runtime/loopback.ts'
import { Problem } from './problem.ts'

export function assertOwnHost({ host = '', origin }: IncomingHttpHeaders, ownHost: string): void {
  const name = hostName(host)
  if (!isLoopback(name) && name !== ownHost) {
    throw new Problem(
      'host.refused',
      `This service does not go by the name "${name}": use http://${bracketed(ownHost)} and its port.`,
    )
  }
  if (origin !== undefined && URL.parse(origin)?.host !== host) {
    throw new Problem(
      'origin.refused',
      'Pages from elsewhere may not call this service: open its own page instead.',
    )
  }
}

/** `[::1]:7070` → `::1` */
function hostName(host: string): string {
  const [, bracketedName, plainName] = /^(?:\[(.*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? []
  return (bracketedName ?? plainName ?? host).toLowerCase()
}

/** As it is written in a URL. */
export function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
