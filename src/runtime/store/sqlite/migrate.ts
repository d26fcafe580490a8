/** Brings a database to the schema this program needs. */
import type { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../../actors/ports.ts'
import { type AppliedMigration, checksumOf, pendingMigrations } from '../migration-plan.ts'
import { sqliteMigrations } from './migrations.ts'
import { inTransaction } from './sqlite-database.ts'
import { storeError } from './sqlite-error.ts'
import { nowMs } from './store-context.ts'

/**
 * All that is missing, or nothing: what has been applied is read under the lock for writing, so two
 * processes that start at once do not both migrate. Throws `StoreRefused` when the database is newer
 * than this program or was made by another.
 */
export function migrate(
  database: DatabaseSync,
  clock: Pick<Clock, 'now'>,
  known = sqliteMigrations,
): void {
  try {
    inTransaction(database, () => {
      const applied = appliedMigrations(database)
      for (const migration of pendingMigrations(known, applied)) {
        database.exec(migration.sql)
        database
          .prepare(
            'INSERT INTO migrations (version, name, checksum, applied_at) VALUES (?, ?, ?, ?)',
          )
          .run(migration.version, migration.name, checksumOf(migration), nowMs(clock))
      }
    })
  } catch (error) {
    throw storeError(error)
  }
}

function appliedMigrations(database: DatabaseSync): AppliedMigration[] {
  database.exec(`
    CREATE TABLE IF NOT EXISTS migrations (
      version    INTEGER PRIMARY KEY,
      name       TEXT    NOT NULL,
      checksum   TEXT    NOT NULL,
      applied_at INTEGER NOT NULL
    ) STRICT`)
  const rows = database.prepare('SELECT version, name, checksum FROM migrations ORDER BY version')
  return rows.all() as unknown as AppliedMigration[]
}
