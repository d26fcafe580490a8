import type { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { StoreRefused } from '../../../../src/runtime/store/job-store.ts'
import { migrate } from '../../../../src/runtime/store/sqlite/migrate.ts'
import { sqliteMigrations } from '../../../../src/runtime/store/sqlite/migrations.ts'
import { openSqliteDatabase } from '../../../../src/runtime/store/sqlite/sqlite-database.ts'
import { sqliteDrift } from '../../../../src/runtime/store/sqlite/sqlite-drift.ts'

const clock = { now: () => 1_000.5 }

let database: DatabaseSync
beforeEach(() => {
  database = openSqliteDatabase(':memory:')
})
afterEach(() => database.close())

const next = { version: sqliteMigrations.length + 1, name: 'next', sql: 'CREATE TABLE next (a)' }
const applied = () =>
  database.prepare('SELECT version, name, applied_at AS at FROM migrations').all()
const tables = () =>
  database
    .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`)
    .all()
    .map(({ name }) => name)

describe('migrations', () => {
  it('run once each, and are remembered with their time', () => {
    migrate(database, clock)
    migrate(database, clock)
    expect(applied()).toEqual(
      sqliteMigrations.map(({ version, name }) => ({ version, name, at: 1_000 })),
    )
  })

  it('that are new run on a database that has the old ones', () => {
    migrate(database, clock)
    migrate(database, clock, [...sqliteMigrations, next])
    expect(tables()).toContain('next')
    expect(applied()).toHaveLength(next.version)
  })

  it('that fail half-way leave the database as it was', () => {
    migrate(database, clock)
    const before = tables()
    const broken = { ...next, sql: 'CREATE TABLE next (a); CREATE TABLE jobs (b)' }
    expect(() => migrate(database, clock, [...sqliteMigrations, broken])).toThrow('already exists')
    expect(tables()).toEqual(before)
    expect(applied()).toHaveLength(sqliteMigrations.length)
  })

  it('of a newer program are refused', () => {
    migrate(database, clock, [...sqliteMigrations, next])
    expect(() => migrate(database, clock)).toThrow(StoreRefused)
    expect(() => migrate(database, clock)).toThrow('start the newer Decorum')
  })

  it('that were not ours are refused', () => {
    migrate(database, clock)
    database.exec(`UPDATE migrations SET checksum = 'another' WHERE version = 1`)
    expect(() => migrate(database, clock)).toThrow(StoreRefused)
    expect(() => migrate(database, clock)).toThrow('Migration 1')
  })
})

describe('drift', () => {
  beforeEach(() => migrate(database, clock))

  it('is none in a database that was only migrated and used', () => {
    database.exec(`INSERT INTO outbox (type, body) VALUES ('fetch', '{}')`)
    expect(sqliteDrift(database)).toEqual([])
  })

  it('is not what others keep in the same file', () => {
    database.exec('CREATE TABLE theirs (a); CREATE INDEX theirs_a ON theirs (a)')
    expect(sqliteDrift(database)).toEqual([])
  })

  it('is an index that is missing, and the words mend it', () => {
    database.exec('DROP INDEX jobs_ready')
    const [words = '', ...others] = sqliteDrift(database)
    expect(words).toContain(`The index 'jobs_ready' is missing`)
    expect(others).toEqual([])
    database.exec(words.slice(words.indexOf('CREATE INDEX')))
    expect(sqliteDrift(database)).toEqual([])
  })

  it('is a table that was changed', () => {
    database.exec('ALTER TABLE turns ADD COLUMN note TEXT')
    expect(sqliteDrift(database)).toEqual([
      expect.stringContaining(`The table 'turns' is not as the migrations made it`),
    ])
  })

  it('is an index or a trigger of theirs on a table of ours', () => {
    database.exec(`
      CREATE INDEX jobs_type ON jobs (type);
      CREATE TRIGGER watch AFTER INSERT ON jobs BEGIN SELECT 1; END`)
    expect(sqliteDrift(database)).toEqual([
      expect.stringContaining(`There is a trigger 'watch' on the table 'jobs'`),
      expect.stringContaining(`There is an index 'jobs_type' on the table 'jobs'`),
    ])
  })
})
