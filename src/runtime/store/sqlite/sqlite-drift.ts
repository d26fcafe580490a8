/**
 * What in a database is not as the migrations left it, in words for the operator. Tables of others
 * in the same file are their own affair.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../../actors/ports.ts'
import { migrate } from './migrate.ts'
import { openSqliteDatabase } from './sqlite-database.ts'

interface Part {
  readonly type: string
  readonly name: string
  readonly tableName: string
  readonly sql: string
}

const beginningOfTime: Pick<Clock, 'now'> = { now: () => 0 }

export function sqliteDrift(database: DatabaseSync): string[] {
  const [expected, found] = [expectedParts(), partsOf(database)]
  const tables = new Set([...expected.values()].map(({ tableName }) => tableName))
  return [
    ...[...expected.values()].flatMap((part) => differences(part, found.get(part.name))),
    ...[...found.values()]
      .filter(({ name, tableName }) => !expected.has(name) && tables.has(tableName))
      .map(
        ({ type, name, tableName }) =>
          `There is ${type === 'index' ? 'an' : 'a'} ${type} '${name}' on the table '${tableName}' that no migration made: drop it, or keep it knowing that it slows every write.`,
      ),
  ]
}

function differences({ type, name, sql }: Part, found: Part | undefined): string[] {
  if (!found)
    return [`The ${type} '${name}' is missing: restore the database from a backup, or run: ${sql}`]
  if (found.sql !== sql)
    return [
      `The ${type} '${name}' is not as the migrations made it. Expected: ${sql}. Found: ${found.sql}`,
    ]
  return []
}

function expectedParts(): ReadonlyMap<string, Part> {
  const fresh = openSqliteDatabase(':memory:')
  try {
    migrate(fresh, beginningOfTime)
    return partsOf(fresh)
  } finally {
    fresh.close()
  }
}

function partsOf(database: DatabaseSync): ReadonlyMap<string, Part> {
  // What SQLite makes for itself (sqlite_…) follows from the rest.
  const parts = database.prepare(`
    SELECT type, name, tbl_name AS tableName, sql FROM sqlite_schema
    WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type DESC, name`)
  return new Map(
    (parts.all() as unknown as Part[]).map((part) => [
      part.name,
      { ...part, sql: part.sql.replace(/\s+/g, ' ').trim() },
    ]),
  )
}
