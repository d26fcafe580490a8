/**
 * Brings the schema to this program's version. Any number of nodes may begin at once: one does it,
 * the others wait and find it done. All in one transaction: a failure leaves what was there.
 */
import { StoreRefused } from '../job-store.ts'
import {
  type AppliedMigration,
  checksumOf,
  type Migration,
  pendingMigrations,
} from '../migration-plan.ts'
import type { Database, Statements } from './database.ts'
import { postgresMigrations } from './migrations.ts'

const SERVER_VERSION_MIN = 140_000

const migrationTable = `
CREATE TABLE migrations (
  version integer PRIMARY KEY,
  name text NOT NULL,
  checksum text NOT NULL,
  applied_at bigint NOT NULL
)`

export async function migrate(database: Database): Promise<void> {
  await database.transaction(async (statements) => {
    await refuseOldServer(statements)
    await lockSchema(statements, database.schema)
    const known = await appliedMigrations(statements, database.schema)
    const pending = pendingMigrations(postgresMigrations, known ?? [])
    if (pending.length === 0) return
    if (!known) await createSchema(statements, database.schema)
    await build(statements, database.schema, pending)
  })
}

/** Undefined where nothing has ever been migrated. */
export async function appliedMigrations(
  statements: Statements,
  schema: string,
): Promise<readonly AppliedMigration[] | undefined> {
  const [found] = await statements.query<{ table: string | null }>(
    'SELECT to_regclass($1)::text AS table',
    [`${schema}.migrations`],
  )
  if (!found?.table) return undefined
  return statements.query(
    `SELECT version, name, checksum FROM ${schema}.migrations ORDER BY version`,
  )
}

/** Held until the transaction ends, so that it works through a pooler too. */
export async function lockSchema(statements: Statements, schema: string): Promise<void> {
  await statements.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `decorum ${schema}`,
  ])
}

/** The whole schema, in a namespace that is empty. */
export async function createSchema(statements: Statements, schema: string): Promise<void> {
  const [existing] = await statements.query('SELECT FROM pg_namespace WHERE nspname = $1', [schema])
  // Asked for first: CREATE SCHEMA IF NOT EXISTS wants rights on the database even where it exists.
  if (!existing) await statements.query(`CREATE SCHEMA ${schema}`)
  await statements.query(`SET LOCAL search_path TO ${schema}`)
  await statements.query(migrationTable)
}

export async function build(
  statements: Statements,
  schema: string,
  migrations: readonly Migration[],
): Promise<void> {
  await statements.query(`SET LOCAL search_path TO ${schema}`)
  for (const migration of migrations) {
    await statements.query(migration.sql)
    await statements.query('INSERT INTO migrations VALUES ($1, $2, $3, now_ms())', [
      migration.version,
      migration.name,
      checksumOf(migration),
    ])
  }
}

async function refuseOldServer(statements: Statements): Promise<void> {
  const [server] = await statements.query<{ number: number; name: string }>(
    `SELECT current_setting('server_version_num')::integer AS number, current_setting('server_version') AS name`,
  )
  if (server && server.number < SERVER_VERSION_MIN)
    throw new StoreRefused(`This is PostgreSQL ${server.name}: Decorum needs 14 or newer.`)
}
