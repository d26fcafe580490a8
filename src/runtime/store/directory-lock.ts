/**
 * One process per data directory. The lock is a lock of the kernel, taken through SQLite on a file
 * that holds nothing: it cannot go stale, and is free the moment its holder is gone, however it went.
 *
 * Who holds it stands in a second file, for the message alone. The lock file itself is never read or
 * removed: closing any handle on it would give the lock away, and a file that is removed and made
 * again can be held twice.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../actors/ports.ts'
import { systemClock } from '../clock.ts'
import { StoreRefused } from './job-store.ts'
import { adviceOn, isBusy } from './sqlite/sqlite-error.ts'

export interface DirectoryLock {
  release(): void
}

/** Makes the directory when it is missing. Throws `StoreRefused`, saying who has it or what is wrong. */
export function lockDirectory(
  path: string,
  clock: Pick<Clock, 'now'> = systemClock,
): DirectoryLock {
  const holderPath = join(path, 'decorum.pid')
  makeDirectory(path)
  const database = take(path, holderPath)
  try {
    const startedAt = new Date(clock.now()).toISOString()
    writeFileSync(holderPath, `${JSON.stringify({ pid: process.pid, startedAt })}\n`)
  } catch (error) {
    database.close()
    throw unusable(path, error)
  }
  return {
    release() {
      if (!database.isOpen) return
      // While it is still ours: afterwards the file may be another's.
      rmSync(holderPath, { force: true })
      database.close()
    },
  }
}

function take(path: string, holderPath: string): DatabaseSync {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(join(path, 'decorum.lock'))
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    return database
  } catch (error) {
    database?.close()
    if (!isBusy(error)) throw unusable(path, error)
    throw new StoreRefused(
      `The data directory '${path}' is in use by ${holder(holderPath)}: stop that process, or set DECORUM_DATA to another directory.`,
      { cause: error },
    )
  }
}

function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { recursive: true })
  } catch (error) {
    throw unusable(path, error)
  }
}

function unusable(path: string, error: unknown): StoreRefused {
  return new StoreRefused(
    `The data directory '${path}' cannot be used (${adviceOn(error)}): make it writable for this user, or set DECORUM_DATA to another directory.`,
    { cause: error },
  )
}

/** Hearsay: it is written after the lock was taken, and may be missing or unreadable. */
function holder(holderPath: string): string {
  try {
    const { pid, startedAt } = JSON.parse(readFileSync(holderPath, 'utf8'))
    return `process ${Number(pid)} (since ${String(startedAt)})`
  } catch {
    return 'another process'
  }
}
