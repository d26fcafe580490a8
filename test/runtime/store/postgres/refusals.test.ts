import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { StoreRefused, StoreUnavailable } from '../../../../src/runtime/store/job-store.ts'
import {
  openPostgresStore,
  type PostgresStoreOptions,
} from '../../../../src/runtime/store/postgres/postgres-store.ts'
import { freePort } from '../../../provision/free-port.ts'
import { usePostgres } from '../../../provision/use-server.ts'

const server = usePostgres()
let operator: Client

beforeAll(async () => {
  operator = new Client({ connectionString: server.url })
  await operator.connect()
})
afterAll(() => operator.end())

it('a wrong password: names the setting, and never shows what was tried', async () => {
  const rules = join(server.directory, 'data', 'pg_hba.conf')
  const password = 'host all guarded 127.0.0.1/32 scram-sha-256\n'
  writeFileSync(rules, password + readFileSync(rules, 'utf8'))
  await operator.query(`CREATE ROLE guarded LOGIN PASSWORD 'right'`)
  await operator.query('SELECT pg_reload_conf()')
  const url = server.url.replace('postgres@', 'guarded:wr0ng@')
  const message = await refusal({ url })
  expect(message).toContain('correct user and password in DATABASE_URL')
  expect(message).not.toContain('wr0ng')
})

it('a missing database: says to create it', async () => {
  const url = server.url.replace(/postgres$/, 'nowhere')
  expect(await refusal({ url })).toMatch(/nowhere on 127\.0\.0\.1:\d+ .*createdb/)
})

it('missing rights: says which to grant', async () => {
  await operator.query('CREATE ROLE weak LOGIN')
  const url = server.url.replace('postgres@', 'weak@')
  expect(await refusal({ url, schema: 'forbidden' })).toContain('GRANT CREATE ON DATABASE')
})

it('a schema that exists is enough: no rights on the database are asked for', async () => {
  await operator.query('CREATE ROLE modest LOGIN')
  await operator.query('CREATE SCHEMA given AUTHORIZATION modest')
  const url = server.url.replace('postgres@', 'modest@')
  const store = await openPostgresStore({ url, schema: 'given' })
  expect((await store.counts()).live.queued).toBe(0)
  await store.close()
})

it('a newer schema: says which Decorum to start, and changes nothing', async () => {
  const options = { url: server.url, schema: 'newer' }
  await (await openPostgresStore(options)).close()
  await operator.query(`INSERT INTO newer.migrations VALUES (99, 'from the future', '', 0)`)
  expect(await refusal(options)).toContain('start the newer Decorum that made it')
})

it('a migration that was edited: says so', async () => {
  const options = { url: server.url, schema: 'edited' }
  await (await openPostgresStore(options)).close()
  await operator.query(`UPDATE edited.migrations SET checksum = 'another'`)
  expect(await refusal(options)).toContain('is not the one this Decorum has')
})

it('tables that were dropped: says what to do', async () => {
  const store = await openPostgresStore({ url: server.url, schema: 'dropped' })
  await operator.query('DROP SCHEMA dropped CASCADE')
  const error = await store.counts().catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(StoreRefused)
  expect(error).toMatchObject({ message: expect.stringContaining('decorum doctor') })
  await store.close()
})

it('an address that is none: shows what one looks like', async () => {
  expect(await refusal({ url: 'over there' })).toContain('postgresql://user:password@host')
})

it.each(['', 'Upper', 'a b', 'x; DROP TABLE jobs', '1st', 'x'.repeat(42)])(
  'the schema name %j is refused',
  async (schema) => {
    expect(await refusal({ url: server.url, schema })).toContain('cannot be the name of a schema')
  },
)

it('a server that does not listen is away: starting may be tried again', async () => {
  const url = `postgresql://postgres@127.0.0.1:${await freePort()}/postgres`
  const error = await openPostgresStore({ url }).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(StoreUnavailable)
  expect(error).toMatchObject({ code: 'database.away' })
})

async function refusal(options: PostgresStoreOptions): Promise<string> {
  const error = await openPostgresStore(options).then(
    async (store) => {
      await store.close()
      return new Error('it opened')
    },
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(StoreRefused)
  return error instanceof Error ? error.message : ''
}
