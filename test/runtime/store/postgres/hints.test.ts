import { Client } from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { JobStore } from '../../../../src/runtime/store/job-store.ts'
import { openPostgresStore } from '../../../../src/runtime/store/postgres/postgres-store.ts'
import { usePostgres } from '../../../provision/use-server.ts'
import { enlist, newJob, take } from './isolation/sessions.ts'

const server = usePostgres()

describe('a hint', () => {
  it('about new jobs reaches every node', async () => {
    const [here, there] = await opened('told')
    const hints = await listening(there)
    await here.add([newJob()])
    await hints.next('jobs')
  })

  it('about a cancel reaches the node that runs the job', async () => {
    const [here, there] = await opened('cancelled')
    await here.add([newJob()])
    const [job] = await take(there, await enlist(there))
    const hints = await listening(there)
    await here.cancel(job!.id)
    await hints.next('cancel')
  })

  it('is sent once for many jobs submitted together', async () => {
    const [here] = await opened('debounced')
    const stranger = await connected()
    const heard: string[] = []
    stranger.on('notification', ({ payload }) => heard.push(payload ?? ''))
    await stranger.query('LISTEN debounced_hint')
    await here.add(Array.from({ length: 500 }, () => newJob()))
    while (heard.length === 0) await stranger.query('SELECT')
    // Anything sent with the batch has arrived by now: notifications come in the order of commits.
    await stranger.query(`NOTIFY debounced_hint, 'end'`)
    while (!heard.includes('end')) await stranger.query('SELECT')
    expect(heard).toEqual(['jobs', 'end'])
  })

  it('of both kinds is given when the listening connection was lost: some may have been missed', async () => {
    const [, there] = await opened('cut')
    const hints = await listening(there)
    const operator = await connected()
    await operator.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'LISTEN cut_hint'`,
    )
    await hints.next('jobs')
    await hints.next('cancel')
  })

  it('in poll-only mode stays in the process, and nobody listens on the server', async () => {
    const schema = 'polled'
    const store = await openPostgresStore({ url: server.url, schema, isPollOnly: true })
    onTestFinished(() => store.close())
    const heard: string[] = []
    store.onHint((hint) => heard.push(hint))
    await store.add([newJob()])
    expect(heard).toEqual(['jobs'])
    const operator = await connected()
    const { rows } = await operator.query(
      `SELECT FROM pg_stat_activity WHERE query = 'LISTEN polled_hint'`,
    )
    expect(rows).toHaveLength(0)
  })
})

it('no call leaves anything behind in a session: a pooler may hand it to anybody', async () => {
  const store = await openPostgresStore({
    url: server.url,
    schema: 'stateless',
    connectionsMax: 1,
    isPollOnly: true,
  })
  onTestFinished(() => store.close())
  await store.add([newJob()])
  const [job] = await take(store, await enlist(store))
  await store.settle('node-1', [{ ...job!, kind: 'done', result: '{}' }])
  await store.relay(1, () => newJob())
  await store.rescue(1)
  const operator = await connected()
  const { rows } = await operator.query(
    `SELECT count(*)::integer AS locks FROM pg_locks JOIN pg_stat_activity USING (pid)
     WHERE application_name = 'decorum' AND locktype IN ('advisory', 'relation')`,
  )
  expect(rows).toEqual([{ locks: 0 }])
})

async function opened(schema: string): Promise<[JobStore, JobStore]> {
  const here = await openPostgresStore({ url: server.url, schema })
  const there = await openPostgresStore({ url: server.url, schema })
  onTestFinished(async () => {
    await here.close()
    await there.close()
  })
  return [here, there]
}

/** Answers when the store listens: then it has given both hints once. */
async function listening(store: JobStore) {
  const heard: string[] = []
  let wake = () => {}
  store.onHint((hint) => {
    heard.push(hint)
    wake()
  })
  const next = async (wanted: string) => {
    while (!heard.includes(wanted)) {
      const { promise, resolve } = Promise.withResolvers<void>()
      wake = resolve
      await promise
    }
    heard.splice(heard.indexOf(wanted), 1)
  }
  await next('jobs')
  await next('cancel')
  return { next }
}

async function connected(): Promise<Client> {
  const client = new Client({ connectionString: server.url })
  await client.connect()
  onTestFinished(() => client.end())
  return client
}
