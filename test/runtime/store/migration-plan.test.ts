import { describe, expect, it } from 'vitest'
import { StoreRefused } from '../../../src/runtime/store/job-store.ts'
import {
  type AppliedMigration,
  checksumOf,
  type Migration,
  migrationProblems,
  pendingMigrations,
} from '../../../src/runtime/store/migration-plan.ts'

const known: readonly Migration[] = [
  { version: 1, name: 'jobs', sql: 'CREATE TABLE jobs (id)' },
  { version: 2, name: 'tasks', sql: 'CREATE TABLE tasks (id)' },
  { version: 3, name: 'turns', sql: 'CREATE TABLE turns (duty)' },
]

const appliedUpTo = (version: number): AppliedMigration[] =>
  known.slice(0, version).map((migration) => ({ ...migration, checksum: checksumOf(migration) }))

describe('the migrations to run', () => {
  it.each([0, 1, 2, 3])('are those after the %i that have been applied', (version) => {
    expect(pendingMigrations(known, appliedUpTo(version))).toEqual(known.slice(version))
    expect(migrationProblems(known, appliedUpTo(version))).toEqual([])
  })

  it('are none, for a program that knows none, on an empty database', () => {
    expect(pendingMigrations([], [])).toEqual([])
  })
})

describe('a database that does not fit is refused, saying what to do', () => {
  const refusal = (applied: readonly AppliedMigration[], program = known) => {
    expect(() => pendingMigrations(program, applied)).toThrow(StoreRefused)
    return migrationProblems(program, applied)
  }

  it('when a newer program has made it', () => {
    const [problem, ...others] = refusal(appliedUpTo(3), known.slice(0, 2))
    expect(problem).toMatch(/version 3.*knows only 2.*start the newer Decorum/)
    expect(others).toEqual([])
  })

  it('when a migration was edited after it ran', () => {
    const applied = appliedUpTo(3).map((migration) =>
      migration.version === 2 ? { ...migration, checksum: 'edited' } : migration,
    )
    const [problem, ...others] = refusal(applied)
    expect(problem).toMatch(/^Migration 2 \(tasks\).*restore the database from a backup/)
    expect(others).toEqual([])
  })

  it('when one is missing in between', () => {
    const [first, , third] = appliedUpTo(3)
    expect(refusal([first!, third!])).toHaveLength(1)
  })

  it('when several differ, and the first is the reason given', () => {
    const applied = appliedUpTo(3).map((migration) => ({ ...migration, checksum: 'foreign' }))
    const problems = refusal(applied)
    expect(problems).toHaveLength(3)
    expect(() => pendingMigrations(known, applied)).toThrow(problems[0]!)
  })
})

describe('a checksum', () => {
  it('is of the SQL alone, to the letter', () => {
    const [migration] = known
    expect(checksumOf({ ...migration!, name: 'renamed' })).toBe(checksumOf(migration!))
    expect(checksumOf({ ...migration!, sql: `${migration!.sql} ` })).not.toBe(
      checksumOf(migration!),
    )
  })

  it('stays the same from release to release', () => {
    expect(checksumOf({ version: 1, name: '', sql: 'SELECT 1' })).toBe(
      'e004ebd5b5532a4b85984a62f8ad48a81aa3460c1ca07701f386135d72cdecf5',
    )
  })
})
