/**
 * Races as named connections and steps. A session is one connection with the whole store on it, in
 * a transaction that stays open until the test commits it: so a test decides who comes first, and
 * sees who waits for whom.
 */
import { Client, types } from 'pg'
import { onTestFinished } from 'vitest'
import {
  type JobStore,
  type NewJob,
  storeLimits,
} from '../../../../../src/runtime/store/job-store.ts'
import type { Database, Statements } from '../../../../../src/runtime/store/postgres/database.ts'
import {
  jobsIn,
  openPostgresStore,
} from '../../../../../src/runtime/store/postgres/postgres-store.ts'
import type { PostgresServer } from '../../../../provision/postgres.ts'

export interface Session extends Omit<JobStore, 'onHint' | 'close'> {
  begin(): Promise<void>
  commit(): Promise<void>
  rollback(): Promise<void>
  sql(text: string, values?: readonly unknown[]): Promise<readonly Record<string, unknown>[]>
  /** Whether the call is held up by somebody's lock, or has its answer. */
  fateOf(call: Promise<unknown>): Promise<'waits' | 'answered'>
}

export interface Stage {
  readonly schema: string
  /** Each call by itself, as in production. */
  readonly store: JobStore
  /** Sets the store's clock forward. */
  advance(ms: number): Promise<void>
  session(name: string): Promise<Session>
  submit(count: number, wishes?: Partial<NewJob>): Promise<readonly string[]>
}

let schemas = 0
let jobs = 0

/** A schema of its own; everything is closed with the test. */
export async function useStage(server: PostgresServer): Promise<Stage> {
  const schema = `race_${++schemas}`
  const store = await openPostgresStore({ url: server.url, schema })
  const watcher = await connected('watcher')
  let offsetMs = 0
  onTestFinished(() => store.close())

  async function connected(name: string): Promise<Client> {
    const client = new Client({
      connectionString: server.url,
      application_name: name,
      types: {
        getTypeParser: ((oid: number) => (oid === 20 ? Number : types.getTypeParser(oid))) as never,
      },
    })
    await client.connect()
    onTestFinished(() => client.end())
    return client
  }

  async function session(name: string): Promise<Session> {
    const client = await connected(name)
    const [backend] = (await client.query('SELECT pg_backend_pid() AS pid')).rows
    const statements: Statements = {
      query: async (text, values = []) => (await client.query(text, [...values])).rows,
    }
    let isOpen = false
    const database: Database = {
      schema,
      ...statements,
      async transaction(work) {
        if (isOpen) return work(statements)
        await client.query('BEGIN')
        const result = await work(statements)
        await client.query('COMMIT')
        return result
      },
      close: async () => undefined,
    }
    const end = async (how: 'COMMIT' | 'ROLLBACK') => {
      await client.query(how)
      isOpen = false
    }
    return {
      ...jobsIn(database, storeLimits, { announce: () => undefined }),
      async begin() {
        await client.query('BEGIN')
        isOpen = true
      },
      commit: () => end('COMMIT'),
      rollback: () => end('ROLLBACK'),
      sql: (text, values) => statements.query(text, values),
      async fateOf(call) {
        let isAnswered = false
        const answered = () => {
          isAnswered = true
        }
        call.then(answered, answered)
        while (!isAnswered) {
          const { rows } = await watcher.query(
            'SELECT cardinality(pg_blocking_pids($1)) > 0 AS waits',
            [backend.pid],
          )
          if (rows[0].waits) return 'waits'
        }
        return 'answered'
      },
    }
  }

  return {
    schema,
    store,
    session,
    async advance(ms) {
      offsetMs += ms
      await watcher.query(
        `CREATE OR REPLACE FUNCTION ${schema}.now_ms() RETURNS bigint LANGUAGE sql STABLE AS
         'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + ${offsetMs}'`,
      )
    },
    async submit(count, wishes = {}) {
      const receipts = await store.add(Array.from({ length: count }, () => newJob(wishes)))
      return receipts.map(({ id }) => id)
    },
  }
}

export function newJob(wishes: Partial<NewJob> = {}): NewJob {
  const number = (++jobs).toString(16).padStart(12, '0')
  return {
    id: `01900000-0000-7000-8000-${number}`,
    type: 'fetch',
    version: '1',
    body: '{}',
    key: null,
    domain: 'example.org',
    priority: 100,
    runAt: null,
    attemptsMax: 5,
    taskId: null,
    traceId: '',
    spanId: '',
    ...wishes,
  }
}

export async function enlist(store: Pick<JobStore, 'enlist'>, id = 'node-1'): Promise<number> {
  return (await store.enlist({ id, role: 'all', address: null, version: '1' })).epoch
}

export async function take(
  store: Pick<JobStore, 'claim'>,
  epoch: number,
  jobsMax = 10,
  nodeId = 'node-1',
) {
  const { jobs } = await store.claim({
    nodeId,
    epoch,
    jobsMax,
    types: ['fetch'],
    refusedDomains: [],
    domainJobsMax: 1_000,
    takesSuspect: true,
    after: null,
  })
  return jobs
}

export function done({ id, fence }: { id: string; fence: number }) {
  return { id, fence, kind: 'done', result: '{}' } as const
}
