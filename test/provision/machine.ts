import { delimiter } from 'node:path'
import { installDebianPackage } from './debian-package.ts'

/** What a search for server programs has to know about the computer it runs on. */
export type Machine = {
  readonly path: readonly string[]
  /** Debian keeps one folder per PostgreSQL version here, outside the PATH. */
  readonly postgresRoot: string
  /** Rejects with `ServerUnavailable` where that cannot be done. */
  install(packageName: string): Promise<void>
}

export function thisMachine(): Machine {
  const path = (process.env.PATH ?? '').split(delimiter).filter(Boolean)
  const isRoot = process.getuid?.() === 0
  return {
    path,
    postgresRoot: '/usr/lib/postgresql',
    install: (packageName) => installDebianPackage(packageName, { path, isRoot }),
  }
}
