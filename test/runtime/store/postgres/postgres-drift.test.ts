import { Client } from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { postgresDrift } from '../../../../src/runtime/store/postgres/postgres-drift.ts'
import { openPostgresStore } from '../../../../src/runtime/store/postgres/postgres-store.ts'
import { usePostgres } from '../../../provision/use-server.ts'

const server = usePostgres()
let operator: Client
let schemas = 0

beforeAll(async () => {
  operator = new Client({ connectionString: server.url })
  await operator.connect()
})
afterAll(() => operator.end())

it('a schema as it was made has nothing to report, and looking leaves nothing behind', async () => {
  const schema = await made()
  expect(await postgresDrift(server.url, schema)).toEqual([])
  const { rows } = await operator.query(
    `SELECT nspname FROM pg_namespace WHERE nspname LIKE 'decorum_doctor%'`,
  )
  expect(rows).toEqual([])
})

it.each([
  ['DROP INDEX {schema}.jobs_ready', 'The index jobs_ready is missing.'],
  ['DROP TABLE {schema}.turns', 'The table turns is missing.'],
  ['ALTER TABLE {schema}.jobs DROP COLUMN reason', 'The column reason of table jobs is missing.'],
  [
    'ALTER TABLE {schema}.jobs ALTER COLUMN priority TYPE bigint',
    'The column priority of table jobs is "bigint NOT NULL" and should be "integer NOT NULL".',
  ],
  [
    'ALTER TABLE {schema}.outbox ALTER COLUMN created_at DROP DEFAULT',
    'The column created_at of table outbox is "bigint NOT NULL" and should be "bigint NOT NULL DEFAULT now_ms()".',
  ],
  [
    'ALTER TABLE {schema}.jobs ADD COLUMN note text',
    'The column note of table jobs is not one that Decorum made.',
  ],
  [
    `CREATE OR REPLACE FUNCTION {schema}.now_ms() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT 5::bigint'`,
    'The function now_ms() is "bigint s SELECT 5::bigint"',
  ],
  ['ALTER TABLE {schema}.jobs RESET (fillfactor)', 'The table jobs is "autovacuum'],
])('%s is told', async (change, finding) => {
  const schema = await made()
  await operator.query(change.replace('{schema}', schema))
  const findings = await postgresDrift(server.url, schema)
  expect(
    findings.some((one) => one.startsWith(finding)),
    findings.join('\n'),
  ).toBe(true)
})

it('a schema that is not there yet is made at the start', async () => {
  expect(await postgresDrift(server.url, 'not_there')).toEqual([
    expect.stringContaining(`There is no schema 'not_there' yet`),
  ])
})

it('a newer schema is told', async () => {
  const schema = await made()
  await operator.query(`INSERT INTO ${schema}.migrations VALUES (2, 'next', '', 0)`)
  expect(await postgresDrift(server.url, schema)).toEqual([
    expect.stringContaining('this Decorum knows only 1'),
  ])
})

async function made(): Promise<string> {
  const schema = `drift_${++schemas}`
  await (await openPostgresStore({ url: server.url, schema })).close()
  return schema
}
