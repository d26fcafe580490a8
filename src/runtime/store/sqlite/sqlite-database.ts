/**
 * One SQLite file, opened so that a commit that was answered survives a power cut: write-ahead log,
 * synchronous FULL. Stores that share a file share the database this returns.
 */
import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { StoreRefused, StoreUnavailable } from '../job-store.ts'
import { adviceOn } from './sqlite-error.ts'

export interface SqliteOptions {
  /** How long a statement waits while another handle on the same file commits. */
  readonly busyMsMax?: number
}

/**
 * The cache holds the busy end of a large queue. The log is copied into the file every 16 MB: four
 * times rarer than by default, because each time costs two more flushes. It shrinks back to 64 MB
 * after a burst. What a failed part of a transaction must put back is kept in memory, not in a file.
 */
const settings = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA foreign_keys = ON;
  PRAGMA cache_size = -65536;
  PRAGMA wal_autocheckpoint = 4000;
  PRAGMA journal_size_limit = 67108864;
  PRAGMA temp_store = MEMORY`

/** `:memory:` opens a database that ends with its handle. Throws, saying what to do about it. */
export function openSqliteDatabase(
  path: string,
  { busyMsMax = 5_000 }: SqliteOptions = {},
): DatabaseSync {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { timeout: busyMsMax })
    // The first statement that touches the file: whatever is wrong with it shows here.
    database.exec(settings)
    return database
  } catch (error) {
    database?.close()
    throw new StoreRefused(`The database '${path}' cannot be opened: ${adviceOn(error)}`, {
      cause: error,
    })
  }
}

/**
 * All of `work`'s statements are committed together or not at all. The lock for writing is taken at
 * the beginning, so that what `work` reads cannot be changed by another handle before it writes.
 */
export function inTransaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec('BEGIN IMMEDIATE')
  try {
    const result = work()
    database.exec('COMMIT')
    return result
  } catch (error) {
    // A full disk makes SQLite roll back by itself; a second ROLLBACK would hide the first error.
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

/**
 * Throws `StoreUnavailable` once the file is no longer where it was opened. SQLite itself would go
 * on writing to a file that has no name, and everything it accepted would be gone with the process.
 */
export function fileGuard(database: DatabaseSync): () => void {
  const path = database.location()
  if (path === null) return () => {}
  const opened = statSync(path)
  return () => {
    const found = statSync(path, { throwIfNoEntry: false })
    if (found?.ino === opened.ino && found.dev === opened.dev) return
    throw new StoreUnavailable(
      'database.away',
      `The database '${path}' has been moved, deleted or replaced while in use: put it back, or restart to begin with what is there now.`,
    )
  }
}
