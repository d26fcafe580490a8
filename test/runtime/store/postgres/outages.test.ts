import { Client } from 'pg'
import { expect, it } from 'vitest'
import { type JobStore, StoreUnavailable } from '../../../../src/runtime/store/job-store.ts'
import { openPostgresStore } from '../../../../src/runtime/store/postgres/postgres-store.ts'
import { usePostgres } from '../../../provision/use-server.ts'
import { done, enlist, newJob, take } from './isolation/sessions.ts'

const server = usePostgres()
const open = (schema: string) => openPostgresStore({ url: server.url, schema })

it('a PostgreSQL that is killed: calls say so, and work again when it is back', async () => {
  const store = await open('killed')
  const epoch = await enlist(store)
  const { id } = (await store.add([newJob()]))[0]!

  await server.kill()
  await expectAway(store.counts())
  await expectAway(take(store, epoch))
  await expectAway(store.relay(10, () => newJob()))
  await server.restart()

  const [job] = await take(store, epoch)
  expect(job?.id).toBe(id)
  expect(await store.settle('node-1', [done(job!)])).toEqual(['settled'])
  await store.close()
})

it('calls under way when PostgreSQL restarts are answered or refused, and what was answered holds', async () => {
  const store = await open('restarted')
  const added = new Set<string>()
  const refused: unknown[] = []
  let isOver = false
  const adding = Promise.all(Array.from({ length: 4 }, addUntilOver))

  await server.restart()
  isOver = true
  await adding

  expect(refused).not.toEqual([])
  expect(refused.every((error) => error instanceof StoreUnavailable)).toBe(true)
  for (const id of added) expect(await store.get(id)).toMatchObject({ state: 'queued' })
  await store.close()

  async function addUntilOver(): Promise<void> {
    while (!isOver) {
      const job = newJob()
      try {
        await store.add([job])
        added.add(job.id)
      } catch (error) {
        refused.push(error)
      }
    }
  }
})

it('connections that are ended under the store are replaced', async () => {
  const store = await open('ended')
  const operator = await connected()
  await Promise.all(Array.from({ length: 5 }, () => store.counts()))
  await operator.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'decorum'`,
  )
  // A connection the pool still believes in may refuse one call each; the process goes on.
  const answers = await Promise.allSettled(Array.from({ length: 20 }, () => store.counts()))
  for (const answer of answers)
    if (answer.status === 'rejected') expect(answer.reason).toBeInstanceOf(StoreUnavailable)
  expect((await store.counts()).live.queued).toBe(0)
  await operator.end()
  await store.close()
})

it('a database that takes no writes says so, and what to do', async () => {
  const operator = await connected()
  await operator.query('CREATE DATABASE standby')
  const url = server.url.replace(/postgres$/, 'standby')
  await (await openPostgresStore({ url })).close()
  await operator.query('ALTER DATABASE standby SET default_transaction_read_only = on')

  const store = await openPostgresStore({ url })
  await expect(store.add([newJob()])).rejects.toMatchObject({
    code: 'database.readOnly',
    message: expect.stringContaining('DATABASE_URL'),
  })
  expect((await store.counts()).live.queued).toBe(0)
  await store.close()
  await operator.end()
})

it('a PostgreSQL without a free connection is busy, not wrong', async () => {
  const operator = await connected()
  await operator.query('CREATE ROLE single LOGIN SUPERUSER')
  const url = server.url.replace('postgres@', 'single@')
  const store = await openPostgresStore({ url, schema: 'crowded', connectionsMax: 2 })
  await operator.query('ALTER ROLE single NOSUPERUSER CONNECTION LIMIT 0')
  await operator.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'single'`,
  )
  await expect(untilRefusedByTheServer(store)).resolves.toMatchObject({
    code: 'database.busy',
    message: expect.stringContaining('max_connections'),
  })
  await operator.end()
  await store.close()
})

/** The first answers can still come from connections that have just been ended. */
async function untilRefusedByTheServer(store: JobStore): Promise<unknown> {
  for (;;) {
    const error = await store.counts().then(
      () => undefined,
      (reason: unknown) => reason,
    )
    if (!(error instanceof StoreUnavailable && error.code === 'database.away')) return error
  }
}

async function expectAway(call: Promise<unknown>): Promise<void> {
  const error = await call.catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(StoreUnavailable)
  expect(error).toMatchObject({
    code: 'database.away',
    message: expect.stringContaining('Check that PostgreSQL runs'),
  })
}

async function connected(): Promise<Client> {
  const client = new Client({ connectionString: server.url, application_name: 'operator' })
  await client.connect()
  return client
}
