import { describe, expect, it } from 'vitest'
import { storeLimits } from '../../../../../src/runtime/store/job-store.ts'
import { usePostgres } from '../../../../provision/use-server.ts'
import { enlist, take, useStage } from './sessions.ts'

const server = usePostgres()

describe('two nodes that claim at once', () => {
  it('share the jobs, and neither waits for the other', async () => {
    const stage = await useStage(server)
    const ids = await stage.submit(4)
    const [a, b] = [await stage.session('a'), await stage.session('b')]
    const [one, two] = [await enlist(a, 'node-a'), await enlist(b, 'node-b')]

    await a.begin()
    const first = await take(a, one, 2, 'node-a')
    const asked = take(b, two, 2, 'node-b')
    expect(await b.fateOf(asked)).toBe('answered')
    await a.commit()

    expect([...first, ...(await asked)].map(({ id }) => id).sort()).toEqual([...ids])
  })

  it('get nothing, at once, where the other is about to take all', async () => {
    const stage = await useStage(server)
    await stage.submit(3)
    const [a, b] = [await stage.session('a'), await stage.session('b')]
    const [one, two] = [await enlist(a, 'node-a'), await enlist(b, 'node-b')]

    await a.begin()
    expect(await take(a, one, 10, 'node-a')).toHaveLength(3)
    const asked = take(b, two, 10, 'node-b')
    expect(await b.fateOf(asked)).toBe('answered')
    expect(await asked).toEqual([])
    await a.rollback()

    expect(await take(b, two, 10, 'node-b')).toHaveLength(3)
  })

  it('never get the same job, however many claim', async () => {
    const stage = await useStage(server)
    const ids = await stage.submit(400)
    const nodes = ['a', 'b', 'c', 'd', 'e', 'f']
    const taken = await Promise.all(
      nodes.map(async (node) => {
        const epoch = await enlist(stage.store, node)
        const mine: string[] = []
        for (;;) {
          const jobs = await take(stage.store, epoch, 7, node)
          mine.push(...jobs.map(({ id }) => id))
          if (jobs.length === 0) return mine
        }
      }),
    )
    // Whoever found the rest locked rested early; nothing is taken twice, and the rest is still there.
    const all = taken.flat()
    expect(new Set(all).size).toBe(all.length)
    const { live } = await stage.store.counts()
    expect(live.queued + all.length).toBe(ids.length)
  })
})

describe('a claim', () => {
  it('under way when its node starts again is waited for, and taken back', async () => {
    const stage = await useStage(server)
    await stage.submit(1)
    const [a, b] = [await stage.session('a'), await stage.session('b')]
    const epoch = await enlist(a)

    await a.begin()
    const [job] = await take(a, epoch)
    const again = b.enlist({ id: 'node-1', role: 'all', address: null, version: '2' })
    expect(await b.fateOf(again)).toBe('waits')
    await a.commit()

    expect((await again).recovered.requeued).toBe(1)
    expect(await stage.store.get(job!.id)).toMatchObject({ state: 'queued', crashes: 1 })
  })

  it('that comes during a rescue of its node waits, and gets nothing', async () => {
    const stage = await useStage(server)
    await stage.submit(1)
    const [a, b] = [await stage.session('a'), await stage.session('b')]
    const epoch = await enlist(a)
    await stage.advance(storeLimits.leaseMs)

    await b.begin()
    await b.rescue(10)
    // For the claim's statement the lease still lasts: it has only the lock to stop it.
    await stage.advance(-storeLimits.leaseMs)
    const asked = take(a, epoch)
    expect(await a.fateOf(asked)).toBe('waits')
    await b.commit()

    expect(await asked).toEqual([])
    expect((await stage.store.counts()).live.queued).toBe(1)
  })

  it('does not hold up the heartbeat of its node', async () => {
    const stage = await useStage(server)
    await stage.submit(1)
    const [a, b] = [await stage.session('a'), await stage.session('b')]
    const epoch = await enlist(a)

    await a.begin()
    await take(a, epoch)
    const beat = b.beat('node-1', epoch)
    expect(await b.fateOf(beat)).toBe('answered')
    expect(await beat).toBe('renewed')
    await a.commit()
  })

  it('passes over a job that is being cancelled', async () => {
    const stage = await useStage(server)
    const [id] = await stage.submit(2)
    const [a, b] = [await stage.session('a'), await stage.session('b')]
    const epoch = await enlist(b)

    await a.begin()
    await a.cancel(id!)
    const asked = take(b, epoch)
    expect(await b.fateOf(asked)).toBe('answered')
    await a.commit()

    expect((await asked).map((job) => job.id)).not.toContain(id)
    expect(await asked).toHaveLength(1)
  })
})
