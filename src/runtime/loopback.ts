import { isIPv4, isIPv6 } from 'node:net'

/** Whether a host is this machine and nobody else's: `localhost`, 127.0.0.0/8 or ::1. */
export function isLoopback(host: string): boolean {
  if (isIPv4(host)) return host.startsWith('127.')
  return isIPv6(host) ? /^[0:]*:0*1$/.test(host) : host === 'localhost'
}
