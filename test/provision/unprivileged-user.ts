import { readFileSync } from 'node:fs'

/**
 * Whom the servers run as. PostgreSQL refuses to run as root, so root hands over to another user;
 * everybody else keeps their own (null).
 */
export function unprivilegedUser(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null
  const accounts = readFileSync('/etc/passwd', 'utf8').split('\n')
  for (const name of ['postgres', 'nobody']) {
    const account = accounts.find((line) => line.startsWith(`${name}:`))?.split(':')
    if (account) return { uid: Number(account[2]), gid: Number(account[3]) }
  }
  throw new Error(
    'running as root, and neither the user postgres nor nobody exists to hand over to',
  )
}
