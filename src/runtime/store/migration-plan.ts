/**
 * Which migrations are to be run. Pure: a store reads what has been applied under its lock, asks
 * here, and runs the answer in the same transaction.
 */
import { createHash } from 'node:crypto'
import { StoreRefused } from './job-store.ts'

export interface Migration {
  /** Counts from 1 without gaps. */
  readonly version: number
  readonly name: string
  /** Never edited once released: its checksum stands in every database it ran on. */
  readonly sql: string
}

export interface AppliedMigration {
  readonly version: number
  readonly name: string
  readonly checksum: string
}

/** Throws `StoreRefused`, saying what to do, when the database does not fit this program. */
export function pendingMigrations(
  known: readonly Migration[],
  applied: readonly AppliedMigration[],
): readonly Migration[] {
  const problem = migrationProblems(known, applied)[0]
  if (problem) throw new StoreRefused(problem)
  return known.slice(applied.length)
}

/** In words for the operator; the first one is why the store refuses to open. */
export function migrationProblems(
  known: readonly Migration[],
  applied: readonly AppliedMigration[],
): string[] {
  if (applied.length > known.length)
    return [
      `The database has schema version ${applied.length}, and this Decorum knows only ${known.length}: start the newer Decorum that made it, or use another database.`,
    ]
  return applied.flatMap(({ version, name, checksum }, index) => {
    const migration = known[index]
    if (migration && version === migration.version && checksum === checksumOf(migration)) return []
    return [
      `Migration ${version} (${name}) in the database is not the one this Decorum has: restore the database from a backup, or use the Decorum that made it.`,
    ]
  })
}

export function checksumOf({ sql }: Migration): string {
  return createHash('sha256').update(sql).digest('hex')
}
