/**
 * Looks at everything a service would open, and changes nothing: no directory is made, no migration
 * run, no lock taken. What it finds is in words for the operator.
 */
import { constants, existsSync } from 'node:fs'
import { access, readFile, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { type Configuration, ConfigurationRefused, configurationFrom } from './configuration.ts'
import type { Variables } from './environment.ts'
import { JobsFileRefused, loadJobs } from './load-jobs.ts'
import { redisAddress } from './redis/redis-address.ts'
import { openRedis } from './redis/redis-connection.ts'
import { type AppliedMigration, type Migration, migrationProblems } from './store/migration-plan.ts'
import { openDatabase, placeOf } from './store/postgres/database.ts'
import { appliedMigrations } from './store/postgres/migrate.ts'
import { postgresMigrations } from './store/postgres/migrations.ts'
import { postgresDrift } from './store/postgres/postgres-drift.ts'
import { sqliteMigrations } from './store/sqlite/migrations.ts'
import { sqliteDrift } from './store/sqlite/sqlite-drift.ts'
import { adviceOn, isBusy } from './store/sqlite/sqlite-error.ts'

export interface Finding {
  readonly check: 'configuration' | 'jobs' | 'data' | 'database' | 'schema' | 'redis'
  readonly isWrong: boolean
  readonly message: string
}

/** `jobsPath` goes before what the environment says. */
export async function examine(
  variables: Variables,
  jobsPath?: string | undefined,
): Promise<readonly Finding[]> {
  let configuration: Configuration
  try {
    configuration = configurationFrom(variables)
  } catch (error) {
    if (!(error instanceof ConfigurationRefused)) throw error
    return error.problems.map((problem) => wrong('configuration', problem))
  }
  const { databaseUrl, redisUrl } = configuration
  return [
    fine('configuration', 'Every setting can be used.'),
    ...(await jobsFindings(jobsPath ?? configuration.jobsFile)),
    ...(await dataFindings(configuration.data)),
    ...(databaseUrl === undefined
      ? sqliteFindings(join(configuration.data, 'decorum.db'))
      : await postgresFindings(databaseUrl)),
    ...(redisUrl === undefined ? [] : [await redisFinding(redisUrl, databaseUrl !== undefined)]),
  ]
}

async function jobsFindings(path: string | undefined): Promise<Finding[]> {
  try {
    const { names } = await loadJobs(path)
    return [fine('jobs', `The job types are ${names.join(', ')}.`)]
  } catch (error) {
    if (!(error instanceof JobsFileRefused)) throw error
    return [wrong('jobs', error.message)]
  }
}

// ── the data directory ──────────────────────────────────────────────────────────────────────────

async function dataFindings(path: string): Promise<Finding[]> {
  const found = await stat(path).catch(() => undefined)
  const place = found ? path : await nearestDirectory(path)
  if (found && !found.isDirectory())
    return [
      wrong('data', `${path} is not a directory: move it away, or set DECORUM_DATA to another.`),
    ]
  try {
    await access(place, constants.R_OK | constants.W_OK)
  } catch {
    return [
      wrong(
        'data',
        `The directory ${place} is not writable for this user: make it so, or set DECORUM_DATA to another.`,
      ),
    ]
  }
  if (!found) return [fine('data', `The directory ${path} will be made at the first start.`)]
  return isLocked(path)
    ? [fine('data', `The directory ${path} is in use by ${await holderOf(path)}.`)]
    : [fine('data', `The directory ${path} is free.`)]
}

async function nearestDirectory(path: string): Promise<string> {
  const above = dirname(resolve(path))
  return (await stat(above).catch(() => undefined)) ? above : nearestDirectory(above)
}

/** Who only wants to read finds out too: the holder's lock is exclusive. */
function isLocked(path: string): boolean {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(join(path, 'decorum.lock'), { readOnly: true })
    database.exec('SELECT * FROM sqlite_schema')
    return false
  } catch (error) {
    return isBusy(error)
  } finally {
    database?.close()
  }
}

async function holderOf(path: string): Promise<string> {
  try {
    const { pid, startedAt } = JSON.parse(await readFile(join(path, 'decorum.pid'), 'utf8'))
    return `process ${Number(pid)} (since ${String(startedAt)})`
  } catch {
    return 'a process'
  }
}

// ── the database ────────────────────────────────────────────────────────────────────────────────

function sqliteFindings(path: string): Finding[] {
  if (!existsSync(path))
    return [fine('database', `The embedded database ${path} will be made at the first start.`)]
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(unchangedFile(path), { readOnly: true })
    const applied = sqliteApplied(database)
    return [
      fine('database', `The embedded database ${path} can be read.`),
      ...schemaFindings(sqliteMigrations, applied, () => sqliteDrift(database!)),
    ]
  } catch (error) {
    return [wrong('database', `The database ${path} cannot be read: ${adviceOn(error)}`)]
  } finally {
    database?.close()
  }
}

/** Without a log beside it nobody has it open, and SQLite need not make files to read it with. */
function unchangedFile(path: string): string | URL {
  if (existsSync(`${path}-wal`)) return path
  return new URL(`${pathToFileURL(path).href}?immutable=1`)
}

function sqliteApplied(database: DatabaseSync): readonly AppliedMigration[] {
  const tables = database.prepare(`SELECT name FROM sqlite_schema WHERE name = 'migrations'`)
  if (tables.all().length === 0) return []
  const rows = database.prepare('SELECT version, name, checksum FROM migrations ORDER BY version')
  return rows.all() as unknown as AppliedMigration[]
}

async function postgresFindings(url: string): Promise<Finding[]> {
  const database = openDatabase({
    url,
    schema: 'decorum',
    connectionsMax: 1,
    applicationName: 'decorum doctor',
    isPollOnly: true,
  })
  try {
    const applied = (await appliedMigrations(database, database.schema)) ?? []
    const drift = applied.length === 0 ? [] : await postgresDrift(database)
    return [
      fine('database', `The database ${placeOf(url)} answers.`),
      ...schemaFindings(postgresMigrations, applied, () => drift),
    ]
  } catch (error) {
    return [wrong('database', wordsFor(error))]
  } finally {
    await database.close()
  }
}

/** A schema that is not wholly there yet, or another's, is not compared. */
function schemaFindings(
  known: readonly Migration[],
  applied: readonly AppliedMigration[],
  drift: () => readonly string[],
): Finding[] {
  const problems = migrationProblems(known, applied)
  if (problems.length > 0) return problems.map((problem) => wrong('schema', problem))
  const pending = known.length - applied.length
  if (pending > 0)
    return [
      fine('schema', `Of ${known.length} migrations ${pending} will be run at the next start.`),
    ]
  const differences = drift()
  return differences.length > 0
    ? differences.map((difference) => wrong('schema', difference))
    : [fine('schema', `The schema is version ${known.length}, exactly as it was made.`)]
}

// ── Redis ───────────────────────────────────────────────────────────────────────────────────────

async function redisFinding(url: string, isUsed: boolean): Promise<Finding> {
  const { name } = redisAddress(url)
  const redis = openRedis(url)
  try {
    const trouble = await new Promise<string | undefined>((resolve) => {
      redis.onChange((_isConnected, why) => resolve(why))
    })
    if (trouble !== undefined) return wrong('redis', `Redis at ${name} is away: ${trouble}`)
    await redis.execute([['ping']])
    const use = isUsed ? '' : ' Nothing uses it as long as DATABASE_URL is not set.'
    return fine('redis', `Redis at ${name} answers.${use}`)
  } catch (error) {
    return wrong('redis', wordsFor(error))
  } finally {
    await redis.close()
  }
}

function fine(check: Finding['check'], message: string): Finding {
  return { check, isWrong: false, message }
}

function wrong(check: Finding['check'], message: string): Finding {
  return { check, isWrong: true, message }
}

function wordsFor(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
