import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/runtime/clock.ts'
import { openSqliteStore } from '../../src/runtime/store/sqlite/sqlite-store.ts'
import { usePostgres, useRedis } from '../provision/use-server.ts'
import { plainDrawings } from './test-app.ts'
import { Caller, nextEvent, stopped, temporaryData, testService } from './test-service.ts'

describe('a service', () => {
  it('listens, is ready, shows itself as a live actor, and stops when asked', async () => {
    const service = testService()
    const url = await service.serving
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    const process = await (await fetch(`${url}/v1/machines/process`)).json()
    expect(process).toMatchObject({ population: { states: { serving: 1 } } })
    service.requestStop('enough')
    expect(await service.ended).toEqual({ exitCode: 0, reason: 'enough' })
    await expect(fetch(`${url}/healthz`)).rejects.toThrow()
  })

  it('is reached by the name it was given', async () => {
    const service = testService({ settings: { host: 'localhost' } })
    const url = await service.serving
    expect(url).toMatch(/^http:\/\/localhost:\d+$/)
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
  })

  it('on a port that is taken ends with advice', async () => {
    const first = testService()
    const port = Number(new URL(await first.serving).port)
    expect(await testService({ settings: { port } }).ended).toEqual({
      exitCode: 1,
      reason: `Port ${port} on 127.0.0.1 is taken: end what uses it, or set DECORUM_PORT to another port (0 takes any free one).`,
    })
  })

  it('asked to stop before it listens never serves', async () => {
    const service = testService()
    service.requestStop('changed my mind')
    expect(await service.ended).toEqual({ exitCode: 0, reason: 'changed my mind' })
  })

  it('answers whoever waits for a drawing when it stops', async () => {
    const asked = Promise.withResolvers<void>()
    const drawing = Promise.withResolvers<string>()
    const service = testService({
      drawings: {
        ...plainDrawings,
        of() {
          asked.resolve()
          return drawing.promise
        },
        close: async () => drawing.reject(new Error('The process stops.')),
      },
    })
    const url = await service.serving
    const answer = fetch(`${url}/v1/machines/job/drawing.svg`)
    await asked.promise
    service.requestStop('SIGTERM')
    expect((await answer).status).toBe(503)
    expect((await service.ended).exitCode).toBe(0)
  })

  it('leaves a data directory in use to the process that uses it', async () => {
    const data = temporaryData()
    await testService({ settings: { data } }).serving
    const { exitCode, reason } = await testService({ settings: { data } }).ended
    expect(exitCode).toBe(1)
    expect(reason).toContain(`is in use by process ${process.pid}`)
  })

  it('that cannot have its port runs no job', async () => {
    const data = temporaryData()
    const intake = testService({ settings: { data }, role: 'api' })
    await new Caller(await intake.serving).submit(failing)
    await stopped(intake)
    const other = testService()
    const port = Number(new URL(await other.serving).port)
    expect((await testService({ settings: { data, port } }).ended).exitCode).toBe(1)
    expect(await countsIn(data)).toMatchObject({ queued: 1 })
  })

  it('with the role api takes jobs in and leaves running them to others', async () => {
    const data = temporaryData()
    const intake = testService({ settings: { data }, role: 'api', jobs: [greeting] })
    const caller = new Caller(await intake.serving)
    const id = await caller.submit({ type: 'greeting' })
    expect((await caller.get('/v1/stats')).body).toMatchObject({ jobs: { queued: 1 }, nodes: [] })
    await stopped(intake)

    const worker = testService({ settings: { data }, role: 'worker', jobs: [greeting] })
    expect(await new Caller(await worker.serving).ended(id)).toMatchObject({ result: 'hello' })
  })

  it('is not ready while its store is away, says so, and is ready again afterwards', async () => {
    const data = temporaryData()
    const url = await testService({ settings: { data } }).serving
    const caller = new Caller(url)
    const events = await caller.events('/v1/events')
    const file = join(data, 'decorum.db')
    renameSync(file, `${file}.elsewhere`)
    const failed = await nextEvent(events, 'duty.failed')
    expect(failed.data.error).toContain('has been moved')
    const answer = await caller.get('/readyz')
    expect([answer.status, answer.body.code]).toEqual([503, 'store.unavailable'])
    const refused = await caller.post('/v1/jobs', failing)
    expect([refused.status, refused.body.code]).toEqual([503, 'store.unavailable'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)

    renameSync(`${file}.elsewhere`, file)
    await nextEvent(events, 'duty.recovered')
    while ((await caller.get('/readyz')).status !== 200) await nextEvent(events, 'duty.recovered')
  })
})

describe('a service that stops with 100 listeners and 50 running jobs', () => {
  it('hands every job back, unharmed, and its next life does them', async () => {
    const data = temporaryData()
    const begun = Promise.withResolvers<void>()
    let running = 0
    const patient = {
      type: 'patient',
      version: '1.0',
      run({ signal }: { signal: AbortSignal }) {
        if (++running === 50) begun.resolve()
        return new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
        })
      },
    }
    const service = testService({ settings: { data }, jobs: [patient] })
    const caller = new Caller(await service.serving)
    const ids = await Promise.all(
      Array.from({ length: 50 }, () => caller.submit({ type: 'patient' })),
    )
    await begun.promise
    const streams = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        caller.events(index % 2 === 0 ? '/v1/events' : `/v1/jobs/${ids[index % 50]}/events`),
      ),
    )
    await stopped(service)
    for (const stream of streams) for await (const _event of stream);
    expect(await service.ended).toEqual({ exitCode: 0, reason: 'the test is over' })
    expect(await countsIn(data)).toMatchObject({ queued: 50, running: 0 })

    const quick = { ...patient, run: () => 'done at last' }
    const next = testService({ settings: { data }, jobs: [quick] })
    const nextCaller = new Caller(await next.serving)
    for (const id of ids)
      expect(await nextCaller.ended(id)).toMatchObject({
        state: 'done',
        result: 'done at last',
        // The attempt that was cut short was given back.
        envelope: { header: { attempt: 1 } },
        crashes: 0,
      })
  })
})

describe('a service on PostgreSQL and Redis', () => {
  const postgres = usePostgres()
  const redis = useRedis()

  it('runs the same jobs, on several nodes, and leaves nothing behind it cannot close', async () => {
    const settings = () => ({
      data: temporaryData(),
      databaseUrl: postgres.url,
      redisUrl: redis.url,
    })
    const intake = testService({ settings: settings(), role: 'api', jobs: [greeting] })
    const worker = testService({ settings: settings(), role: 'worker', jobs: [greeting] })
    const events = await new Caller(await worker.serving).events('/v1/events')
    const caller = new Caller(await intake.serving)
    const id = await caller.submit({ type: 'greeting' })
    expect((await nextEvent(events, 'job.settled')).data).toMatchObject({ id, as: 'done' })
    expect((await caller.get(`/v1/jobs/${id}`)).body).toMatchObject({ result: 'hello' })
    const { nodes } = (await caller.get('/v1/stats')).body
    expect(nodes).toMatchObject([{ role: 'worker', isAlive: true }])
    for (const service of [intake, worker]) {
      await stopped(service)
      expect((await service.ended).exitCode).toBe(0)
    }
  })
})

/** Would leave the queue, one way or another, if somebody ran it. */
const failing = { type: 'http.request', body: { url: 'http://127.0.0.1:1/' } }

const greeting = { type: 'greeting', version: '1.0', run: () => 'hello' }

async function countsIn(data: string) {
  const store = await openSqliteStore({ path: join(data, 'decorum.db'), clock: systemClock })
  const { live } = await store.counts()
  await store.close()
  return live
}
