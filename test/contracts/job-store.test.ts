import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Client } from 'pg'
import { describe } from 'vitest'
import { VirtualClock } from '../../src/actors/virtual-clock.ts'
import { openPostgresStore } from '../../src/runtime/store/postgres/postgres-store.ts'
import { openSqliteStore } from '../../src/runtime/store/sqlite/sqlite-store.ts'
import { usePostgres } from '../provision/use-server.ts'
import type { OutboxDraft } from './job-store/stage.ts'
import { jobStoreContract } from './job-store.ts'

const STARTS_AT = Date.UTC(2030, 0, 1)

jobStoreContract('SQLite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'decorum-jobs-'))
  const path = join(folder, 'decorum.db')
  const clock = new SelfTurningClock(STARTS_AT)
  const store = await openSqliteStore({ path, clock })
  return {
    store,
    now: () => clock.now(),
    async advance(ms) {
      clock.advance(ms)
    },
    async writeOutbox(rows) {
      const stranger = new DatabaseSync(path, { timeout: 5_000 })
      stranger.exec('BEGIN IMMEDIATE')
      for (const row of rows) {
        const { sql, values } = insertion('outbox', row, () => '?')
        stranger.prepare(sql).run(...values)
      }
      stranger.exec('COMMIT')
      stranger.close()
    },
    async refusals() {
      const stranger = new DatabaseSync(path, { timeout: 5_000 })
      const rows = stranger.prepare(refusalsIn('outbox')).all()
      stranger.close()
      return rows.map(({ refusal }) => String(refusal))
    },
    reopen: () => openSqliteStore({ path, clock }),
    async close() {
      await store.close()
      rmSync(folder, { recursive: true })
    },
  }
})

/** Time that moves only when told to, while turns come by themselves. */
class SelfTurningClock extends VirtualClock {
  override soon(work: () => void): void {
    super.soon(work)
    setImmediate(() => this.settle())
  }
}

describe('on a server of its own', () => {
  const server = usePostgres()
  let schemas = 0

  jobStoreContract('PostgreSQL', async () => {
    const schema = `contract_${schemas++}`
    const store = await openPostgresStore({ url: server.url, schema })
    const stranger = new Client({ connectionString: server.url })
    await stranger.connect()
    let now = STARTS_AT
    const setClock = () =>
      stranger.query(
        `CREATE OR REPLACE FUNCTION ${schema}.now_ms() RETURNS bigint LANGUAGE sql STABLE
         AS 'SELECT ${now}::bigint'`,
      )
    await setClock()
    return {
      store,
      now: () => now,
      async advance(ms) {
        now += ms
        await setClock()
      },
      async writeOutbox(rows) {
        await stranger.query('BEGIN')
        for (const row of rows) {
          const { sql, values } = insertion(`${schema}.outbox`, row, (index) => `$${index + 1}`)
          await stranger.query(sql, values)
        }
        await stranger.query('COMMIT')
      },
      async refusals() {
        const { rows } = await stranger.query<{ refusal: string }>(refusalsIn(`${schema}.outbox`))
        return rows.map(({ refusal }) => refusal)
      },
      reopen: () => openPostgresStore({ url: server.url, schema }),
      async close() {
        await store.close()
        await stranger.end()
      },
    }
  })
})

const columns = {
  type: 'type',
  body: 'body',
  key: 'key',
  domain: 'domain',
  priority: 'priority',
  runAt: 'run_at',
  attemptsMax: 'attempts_max',
  taskId: 'task_id',
} as const satisfies Record<keyof OutboxDraft, string>

/** Names only the columns the row has, as people write SQL. */
function insertion(table: string, row: OutboxDraft, mark: (index: number) => string) {
  const given = Object.keys(row) as (keyof OutboxDraft)[]
  const names = given.map((field) => columns[field])
  const marks = given.map((_, index) => mark(index))
  return {
    sql: `INSERT INTO ${table} (${names.join(', ')}) VALUES (${marks.join(', ')})`,
    values: given.map((field) => row[field] ?? null),
  }
}

function refusalsIn(table: string): string {
  return `SELECT refusal FROM ${table} WHERE refusal IS NOT NULL ORDER BY id`
}
