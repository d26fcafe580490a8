/**
 * The way to PostgreSQL for all statements of the store.
 *
 * No statement is prepared by name and nothing is left behind in a session, so connections may come
 * from a pooler in transaction mode. That costs a planning per call and buys plans that fit the
 * table as it is now: a plan kept from the time when the queue was empty would read all of it later.
 */
import { Pool, type PoolClient, type PoolConfig, types } from 'pg'
import { StoreRefused } from '../job-store.ts'
import { storeError } from './store-errors.ts'

/** One statement after another; inside a transaction, or each by itself. */
export interface Statements {
  query<Row>(text: string, values?: readonly unknown[]): Promise<readonly Row[]>
}

export interface Database extends Statements {
  /** Checked: fit to be written into a statement as it is. */
  readonly schema: string
  /** All of `work` is committed, or nothing. */
  transaction<T>(work: (statements: Statements) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export interface DatabaseOptions {
  readonly url: string
  readonly schema: string
  readonly connectionsMax: number
  readonly applicationName: string
  readonly isPollOnly: boolean
}

const CONNECT_MS_MAX = 5_000
const STATEMENT_MS_MAX = 30_000
// Later than the server's own limit: that one leaves a usable connection behind.
const ANSWER_MS_MAX = 35_000
const IDLE_IN_TRANSACTION_MS_MAX = 30_000

const INT8 = 20

export function openDatabase(options: DatabaseOptions): Database {
  const where = placeOf(options.url)
  const schema = checkedSchema(options.schema)
  const pool = new Pool({ ...connectionConfig(options), max: options.connectionsMax })
  // A connection that dies while nobody uses it must not take the process with it. Whoever uses one
  // learns of its death through the statement under way.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  const underWay = new Set<Promise<unknown>>()
  let closed: Promise<void> | undefined

  async function call<T>(work: () => Promise<T>): Promise<T> {
    if (closed) throw new Error('The store is closed: nothing can be asked of it any more.')
    const working = work()
    underWay.add(working)
    try {
      return await working
    } catch (error) {
      throw storeError(error, where)
    } finally {
      underWay.delete(working)
    }
  }

  /** The pool would leave those who still wait for a connection without one. */
  async function close(): Promise<void> {
    await Promise.allSettled(underWay)
    await pool.end()
  }

  return {
    schema,
    query: (text, values) =>
      call(async () => (await pool.query(text, values ? [...values] : undefined)).rows),
    transaction: (work) =>
      call(async () => {
        const client = await pool.connect()
        try {
          const result = await inTransaction(client, work)
          client.release()
          return result
        } catch (error) {
          // Closing the connection rolls back, also when it no longer answers.
          client.release(true)
          throw error
        }
      }),
    close: () => (closed ??= close()),
  }
}

async function inTransaction<T>(
  client: PoolClient,
  work: (statements: Statements) => Promise<T>,
): Promise<T> {
  await client.query('BEGIN ISOLATION LEVEL READ COMMITTED')
  const result = await work({
    query: async (text, values) =>
      (await client.query(text, values ? [...values] : undefined)).rows,
  })
  await client.query('COMMIT')
  return result
}

/** What pool and listener have in common. */
export function connectionConfig({
  url,
  applicationName,
  isPollOnly,
}: Omit<DatabaseOptions, 'schema' | 'connectionsMax'>): PoolConfig {
  return {
    connectionString: url,
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_MS_MAX,
    query_timeout: ANSWER_MS_MAX,
    keepAlive: true,
    // Poolers refuse a connection that begins with settings they do not keep apart.
    ...(!isPollOnly && {
      statement_timeout: STATEMENT_MS_MAX,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS_MAX,
    }),
    types: {
      // Milliseconds and counts are far below 2^53.
      getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
        oid === INT8 ? Number : types.getTypeParser(oid, format as 'text')) as never,
    },
  }
}

/** Host and database, for messages: never the password. */
export function placeOf(url: string): string {
  try {
    const { hostname, port, pathname } = new URL(url)
    return `${pathname.slice(1) || 'postgres'} on ${hostname || 'this machine'}${port && `:${port}`}`
  } catch {
    throw new StoreRefused(
      'DATABASE_URL is no address of a database: write postgresql://user:password@host:5432/database.',
    )
  }
}

function checkedSchema(schema: string): string {
  if (/^[a-z_][a-z0-9_]{0,40}$/.test(schema)) return schema
  throw new StoreRefused(
    `'${schema}' cannot be the name of a schema: use lower-case letters, digits and _, at most 41.`,
  )
}
