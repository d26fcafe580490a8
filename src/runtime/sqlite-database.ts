/**
 * One SQLite file, opened so that a commit that was answered survives a power cut: write-ahead log,
 * synchronous FULL. Stores that share a file share the database this returns.
 */
import { DatabaseSync } from 'node:sqlite'

export interface SqliteOptions {
  /** How long a statement waits while another handle on the same file commits. */
  readonly busyMsMax?: number
}

/** `:memory:` opens a database that ends with its handle. Throws, saying what to do about it. */
export function openSqliteDatabase(
  path: string,
  { busyMsMax = 5_000 }: SqliteOptions = {},
): DatabaseSync {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { timeout: busyMsMax })
    // The first statement that touches the file: whatever is wrong with it shows here.
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON')
    return database
  } catch (error) {
    database?.close()
    throw new Error(`The database '${path}' cannot be opened: ${adviceOn(error)}`, { cause: error })
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

/** SQLite's result codes, as far as an operator can do something about them. */
const advice: Readonly<Record<number, string>> = {
  5: 'another process has it locked. Stop that process, or use another data directory.',
  8: 'it is read-only. Make the file and its directory writable for this user.',
  11: 'the file is damaged. Put it aside and restore it from a backup.',
  13: 'the disk is full. Make room and start again.',
  14: 'there is no such directory, or it is not writable. Create it, or choose another path.',
  26: 'the file is not a SQLite database. Choose another path, or move that file away.',
}

function adviceOn(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const known = 'errcode' in error && typeof error.errcode === 'number' && advice[error.errcode]
  return known || error.message
}
