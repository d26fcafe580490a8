import { describe, expect, it } from 'vitest'
import { storeLimits } from '../../../../../src/runtime/store/job-store.ts'
import { usePostgres } from '../../../../provision/use-server.ts'
import { enlist, take, useStage } from './sessions.ts'

const server = usePostgres()

/** A node that runs a job and whose lease has just ended. */
async function overdue() {
  const stage = await useStage(server)
  await stage.submit(1)
  const [a, b, c] = [await stage.session('a'), await stage.session('b'), await stage.session('c')]
  const epoch = await enlist(a)
  const jobs = await take(a, epoch)
  await stage.advance(storeLimits.leaseMs)
  return { stage, a, b, c, epoch, id: jobs[0]!.id }
}

describe('a heartbeat and a rescue', () => {
  it('the heartbeat first: the rescue passes the node by', async () => {
    const { stage, a, b, epoch, id } = await overdue()
    await a.begin()
    expect(await a.beat('node-1', epoch)).toBe('renewed')
    const rescue = b.rescue(10)
    expect(await b.fateOf(rescue)).toBe('answered')
    expect((await rescue).requeued).toBe(0)
    await a.commit()
    expect((await b.rescue(10)).requeued).toBe(0)
    expect(await stage.store.get(id)).toMatchObject({ state: 'running' })
  })

  it('the rescue first: the heartbeat waits, and is lost', async () => {
    const { stage, a, b, epoch, id } = await overdue()
    await b.begin()
    expect((await b.rescue(10)).requeued).toBe(1)
    const beat = a.beat('node-1', epoch)
    expect(await a.fateOf(beat)).toBe('waits')
    await b.commit()
    expect(await beat).toBe('lost')
    expect(await stage.store.get(id)).toMatchObject({ state: 'queued', crashes: 1 })
  })
})

describe('two rescues at once', () => {
  it('count one crash', async () => {
    const { stage, b, c, id } = await overdue()
    await b.begin()
    expect((await b.rescue(10)).requeued).toBe(1)
    const other = c.rescue(10)
    expect(await c.fateOf(other)).toBe('answered')
    expect((await other).requeued).toBe(0)
    await b.commit()
    expect(await stage.store.get(id)).toMatchObject({ crashes: 1 })
  })
})

describe('a rescue that comes to nothing', () => {
  it('leaves the node its lease and its jobs', async () => {
    const { stage, a, b, epoch, id } = await overdue()
    await b.begin()
    await b.rescue(10)
    await b.rollback()
    expect(await a.beat('node-1', epoch)).toBe('renewed')
    expect(await stage.store.get(id)).toMatchObject({ state: 'running', crashes: 0 })
  })
})

describe('a node that has left', () => {
  it('is not brought back by a heartbeat that was still on its way', async () => {
    const stage = await useStage(server)
    const epoch = await enlist(stage.store)
    await stage.store.leave('node-1', epoch)
    expect(await stage.store.beat('node-1', epoch)).toBe('lost')
    expect(await stage.store.nodes()).toMatchObject([{ id: 'node-1', isAlive: false }])
  })
})
