import { describe, expect, it } from 'vitest'
import type { OutboxRow } from '../../../../../src/runtime/store/job-store.ts'
import { openPostgresStore } from '../../../../../src/runtime/store/postgres/postgres-store.ts'
import { usePostgres } from '../../../../provision/use-server.ts'
import { newJob, useStage } from './sessions.ts'

const server = usePostgres()

describe('an outbox row that is committed late', () => {
  it('is moved later, once, though higher numbers went before', async () => {
    const stage = await useStage(server)
    const [a, b] = [await stage.session('a'), await stage.session('b')]
    const write = (body: string) =>
      `INSERT INTO ${stage.schema}.outbox (type, body) VALUES ('fetch', '${body}')`
    const seen: string[] = []
    const read = ({ body }: OutboxRow) => {
      seen.push(body)
      return newJob({ body })
    }

    await a.begin()
    await a.sql(write('"late"'))
    await b.sql(write('"early"'))
    expect(await stage.store.relay(10, read)).toEqual({ moved: 1, refused: 0 })
    await a.commit()
    expect(await stage.store.relay(10, read)).toEqual({ moved: 1, refused: 0 })
    expect(await stage.store.relay(10, read)).toEqual({ moved: 0, refused: 0 })

    expect(seen).toEqual(['"early"', '"late"'])
    expect((await stage.store.counts()).live.queued).toBe(2)
  })

  it('is never moved when its writer gives up', async () => {
    const stage = await useStage(server)
    const a = await stage.session('a')
    await a.begin()
    await a.sql(`INSERT INTO ${stage.schema}.outbox (type, body) VALUES ('fetch', '{}')`)
    await a.rollback()
    expect(await stage.store.relay(10, () => newJob())).toEqual({ moved: 0, refused: 0 })
  })
})

describe('two relays at once', () => {
  it('move different rows, and neither waits', async () => {
    const stage = await useStage(server)
    const [a, b] = [await stage.session('a'), await stage.session('b')]
    await b.sql(`INSERT INTO ${stage.schema}.outbox (type, body)
      SELECT 'fetch', number::text FROM generate_series(1, 6) AS number`)
    const bodies: string[] = []
    const read = ({ body }: OutboxRow) => {
      bodies.push(body)
      return newJob({ body })
    }

    await a.begin()
    await a.relay(3, read)
    const other = b.relay(10, read)
    expect(await b.fateOf(other)).toBe('answered')
    await a.commit()

    expect((await other).moved).toBe(3)
    expect(bodies.sort()).toEqual(['1', '2', '3', '4', '5', '6'])
  })
})

describe('two schedulers at once', () => {
  it('submit a due instant once, and neither waits', async () => {
    const stage = await useStage(server)
    const [a, b] = [await stage.session('a'), await stage.session('b')]
    const schedule = { name: 's', cron: '* * * * *', timeZone: 'UTC', type: 'fetch', body: '{}' }
    await stage.store.putSchedule({ ...schedule, domain: '', priority: 1, isPaused: false }, 1)
    const fire = (_: unknown, now: number) => ({ job: newJob(), nextAt: now + 60_000 })

    await a.begin()
    expect((await a.fireSchedules(fire)).fired).toBe(1)
    const other = b.fireSchedules(fire)
    expect(await b.fateOf(other)).toBe('answered')
    await a.commit()

    expect((await other).fired).toBe(0)
    expect((await stage.store.counts()).live.queued).toBe(1)
  })
})

describe('two batches with the same keys', () => {
  it('in opposite orders: one waits for the other, and learns whose jobs stand', async () => {
    const stage = await useStage(server)
    const [a, b] = [await stage.session('a'), await stage.session('b')]
    const batch = (...keys: string[]) => keys.map((key) => newJob({ key }))

    await a.begin()
    const first = await a.add(batch('x', 'y'))
    const second = b.add(batch('y', 'x'))
    expect(await b.fateOf(second)).toBe('waits')
    await a.commit()

    expect(await second).toEqual(first.toReversed().map(({ id }) => ({ id, isNew: false })))
  })

  it('however many at once, tie no knot', async () => {
    const stage = await useStage(server)
    const keys = Array.from({ length: 50 }, (_, number) => `key-${number}`)
    const receipts = await Promise.all(
      Array.from({ length: 8 }, (_, turn) =>
        stage.store.add((turn % 2 ? keys : keys.toReversed()).map((key) => newJob({ key }))),
      ),
    )
    expect(receipts.flat().filter(({ isNew }) => isNew)).toHaveLength(50)
  })
})

describe('several nodes that start on an empty database', () => {
  it('make the schema once, and all of them work', async () => {
    const schema = 'made_by_many'
    const stores = await Promise.all(
      Array.from({ length: 5 }, () => openPostgresStore({ url: server.url, schema })),
    )
    await Promise.all(stores.map((store) => store.add([newJob()])))
    expect((await stores[0]!.counts()).live.queued).toBe(5)
    await Promise.all(stores.map((store) => store.close()))
  })
})
