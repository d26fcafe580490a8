import { describe, expect, it } from 'vitest'
import { type NodeCard, storeLimits } from '../../../src/runtime/store/job-store.ts'
import { idsOf, type Stage, settling } from './stage.ts'

const { leaseMs } = storeLimits
const nothing = { requeued: 0, dead: [], cancelled: 0 }

export function nodeClaims(stage: Stage): void {
  const card = (id: string): NodeCard => ({ id, role: 'worker', address: null, version: '1' })

  describe('a node', () => {
    it('is listed with what it said, and with what it runs', async () => {
      const node = { id: 'a', role: 'all', address: 'http://10.0.0.1:7070', version: '2' } as const
      const { epoch } = await stage.store.enlist(node)
      await stage.store.add(stage.jobs(3))
      await stage.advance(1_000)
      await stage.store.beat('a', epoch)
      const other = await stage.enlist('b')
      await other.take({ jobsMax: 2 })
      const [first, second, ...others] = await byId()
      expect(first).toEqual({
        ...node,
        startedAt: stage.now() - 1_000,
        beatAt: stage.now(),
        isAlive: true,
        running: 0,
      })
      expect(second).toMatchObject({ ...card('b'), isAlive: true, running: 2 })
      expect(others).toEqual([])
    })

    it('that starts again is listed once, as it is now', async () => {
      await stage.store.enlist(card('a'))
      await stage.advance(5_000)
      const now = { id: 'a', role: 'api', address: 'http://10.0.0.2:7070', version: '2' } as const
      await stage.store.enlist(now)
      const times = { startedAt: stage.now(), beatAt: stage.now() }
      expect(await stage.store.nodes()).toEqual([{ ...now, ...times, isAlive: true, running: 0 }])
    })

    it('is alive as long as its lease lasts', async () => {
      await stage.enlist('a')
      const isAlive = async () => (await stage.store.nodes())[0]?.isAlive
      await stage.advance(leaseMs - 1)
      expect(await isAlive()).toBe(true)
      await stage.advance(2)
      expect(await isAlive()).toBe(false)
    })

    it('knows what, for the store, it runs', async () => {
      const node = await stage.enlist('a')
      await stage.store.add(stage.jobs(3))
      const jobs = await node.take()
      const tickets = jobs.map(({ id, fence }) => ({ id, fence }))
      const running = await stage.store.runningOn('a', 10)
      expect(running.toSorted((one, two) => (one.id < two.id ? -1 : 1))).toEqual(tickets)
      expect(await stage.store.runningOn('a', 2)).toHaveLength(2)
      expect(await stage.store.runningOn('b', 10)).toEqual([])
      await node.settle(settling.done(jobs[0]!))
      expect(await stage.store.runningOn('a', 10)).toHaveLength(2)
    })

    it('that leaves is not alive, and gets nothing more', async () => {
      const node = await stage.enlist('a')
      await stage.store.leave('a', node.epoch)
      await stage.submit()
      expect((await stage.store.nodes()).filter(({ isAlive }) => isAlive)).toEqual([])
      expect(await node.take()).toEqual([])
    })

    it('that was replaced cannot make its successor leave', async () => {
      const earlier = await stage.enlist('a')
      const later = await stage.enlist('a')
      await stage.store.leave('a', earlier.epoch)
      expect(await stage.store.nodes()).toMatchObject([{ id: 'a', isAlive: true }])
      expect(await stage.store.beat('a', later.epoch)).toBe('renewed')
    })
  })

  describe('enlisting', () => {
    it('counts the epoch up, each node its own', async () => {
      const first = await stage.enlist('a')
      const second = await stage.enlist('a')
      expect(second.epoch).toBeGreaterThan(first.epoch)
      expect(await stage.store.beat('a', first.epoch)).toBe('lost')
      expect(await stage.store.beat('a', second.epoch)).toBe('renewed')
    })

    it('takes back at once what an earlier life of the node ran, and nothing else', async () => {
      const [mine, theirs] = [await stage.enlist('mine'), await stage.enlist('theirs')]
      const runAt = stage.now() - 5_000
      await stage.store.add(stage.jobs(4, { runAt }))
      const [lost] = await mine.take({ jobsMax: 2 })
      const others = await theirs.take({ jobsMax: 2 })
      await stage.advance(700)
      const { recovered } = await stage.store.enlist(card('mine'))
      expect(recovered).toEqual({ requeued: 2, dead: [], cancelled: 0 })
      expect(await stage.record(lost!.id)).toMatchObject({
        state: 'queued',
        runAt,
        attempt: 1,
        crashes: 1,
        fence: 1,
      })
      expect(await stage.store.pastAttempts(lost!.id)).toMatchObject([
        {
          attempt: 1,
          fence: 1,
          nodeId: 'mine',
          startedAt: stage.now() - 700,
          endedAt: stage.now(),
          kind: 'crash',
        },
      ])
      expect(await theirs.settle(...others.map((job) => settling.done(job)))).toEqual([
        'settled',
        'settled',
      ])
    })

    it('finds nothing to take back when everything was settled', async () => {
      const { node, job } = await stage.running()
      await node.settle(settling.done(job))
      expect((await stage.store.enlist(card(node.id))).recovered).toEqual(nothing)
    })
  })

  describe('a beat', () => {
    it('renews the lease for every job of the node', async () => {
      const { node, job } = await stage.running()
      for (let beat = 0; beat < 5; beat++) {
        await stage.advance(leaseMs - 1)
        expect(await stage.store.beat(node.id, node.epoch)).toBe('renewed')
        expect(await stage.store.rescue(100)).toEqual(nothing)
      }
      expect(await node.settle(settling.done(job))).toEqual(['settled'])
    })

    it('that comes late renews, as long as nobody has taken anything', async () => {
      const { node, job } = await stage.running()
      await stage.advance(leaseMs * 10)
      expect(await stage.store.beat(node.id, node.epoch)).toBe('renewed')
      expect(await stage.store.rescue(100)).toEqual(nothing)
      expect(await node.settle(settling.done(job))).toEqual(['settled'])
    })

    it('after a rescue is lost, and so is what the node brings', async () => {
      const { node, job } = await stage.running()
      await stage.advance(leaseMs + 1)
      expect(await stage.store.rescue(100)).toEqual({ requeued: 1, dead: [], cancelled: 0 })
      expect(await stage.store.beat(node.id, node.epoch)).toBe('lost')
      expect(await node.take()).toEqual([])
      expect(await node.settle(settling.done(job))).toEqual(['lost'])
      expect(await stage.state(job.id)).toBe('queued')
    })

    it('of a node nobody knows is lost', async () => {
      expect(await stage.store.beat('stranger', 1)).toBe('lost')
    })
  })

  describe('a rescue', () => {
    it('has nothing to do while every lease lasts', async () => {
      await stage.running()
      await stage.advance(leaseMs - 1)
      expect(await stage.store.rescue(100)).toEqual(nothing)
    })

    it("takes a dead node's jobs back, and leaves those of others alone", async () => {
      const [dying, living] = [await stage.enlist('dying'), await stage.enlist('living')]
      await stage.store.add(stage.jobs(4))
      const lost = await dying.take({ jobsMax: 2 })
      const kept = await living.take({ jobsMax: 2 })
      await stage.advance(leaseMs + 1)
      await stage.store.beat('living', living.epoch)
      expect(await stage.store.rescue(100)).toEqual({ requeued: 2, dead: [], cancelled: 0 })
      expect(await stage.store.rescue(100)).toEqual(nothing)
      const again = await living.take()
      expect(idsOf(again)).toEqual(idsOf(lost))
      expect(again).toMatchObject([
        { attempt: 2, crashes: 1, fence: 2 },
        { attempt: 2, crashes: 1, fence: 2 },
      ])
      const all = [...kept, ...again].map((job) => settling.done(job))
      expect(await living.settle(...all)).toEqual(all.map(() => 'settled'))
    })

    it('goes on where it stopped when there are more than allowed', async () => {
      const node = await stage.enlist('a')
      await stage.store.add(stage.jobs(5))
      await node.take()
      await stage.advance(leaseMs + 1)
      expect((await stage.store.rescue(2)).requeued).toBe(2)
      expect(await stage.store.beat('a', node.epoch)).toBe('lost')
      expect((await stage.store.rescue(2)).requeued).toBe(2)
      expect((await stage.store.rescue(2)).requeued).toBe(1)
      expect(await stage.store.rescue(2)).toEqual(nothing)
      expect(await stage.tally()).toEqual({ queued: 5 })
    })

    it('by several nodes at once takes each job back once', async () => {
      const node = await stage.enlist('a')
      await stage.store.add(stage.jobs(40))
      await node.take()
      await stage.advance(leaseMs + 1)
      const first = await Promise.all([1, 2, 3, 4].map(() => stage.store.rescue(15)))
      const rest = await stage.store.rescue(100)
      expect([...first, rest].reduce((sum, { requeued }) => sum + requeued, 0)).toBe(40)
      const { jobs } = await stage.store.list({}, { after: null, jobsMax: 100 })
      expect(jobs.every(({ crashes, state }) => crashes === 1 && state === 'queued')).toBe(true)
    })

    it('the node it rescued may enlist again and go on', async () => {
      const { node } = await stage.running()
      await stage.advance(leaseMs + 1)
      await stage.store.rescue(100)
      const later = await stage.enlist(node.id)
      // The rescue counts as well.
      expect(later.epoch).toBeGreaterThan(node.epoch + 1)
      expect(await later.take()).toHaveLength(1)
    })

    it('covers a node that left though it was running something', async () => {
      const { node } = await stage.running()
      await stage.store.leave(node.id, node.epoch)
      expect(await stage.store.rescue(100)).toEqual({ requeued: 1, dead: [], cancelled: 0 })
    })
  })

  describe('crashes', () => {
    it('the third makes a job dead, and says what to make of it; others are unharmed', async () => {
      const id = await stage.submit({ attemptsMax: 99 })
      const bystander = await stage.submit({ domain: 'b.example' })
      let node = await stage.enlist()
      for (let crash = 1; crash <= 3; crash++) {
        expect(idsOf(await node.takeAll())).toContain(id)
        const answer = await stage.store.enlist(card(node.id))
        expect(answer.recovered.dead).toEqual(crash === 3 ? [id] : [])
        if (crash === 1) await stage.store.pause({ kind: 'domain', name: 'b.example' })
        node = await stage.enlist(node.id)
      }
      const record = await stage.record(id)
      expect(record).toMatchObject({
        state: 'dead',
        crashes: 3,
        attempt: 3,
        finishedAt: stage.now(),
        error: { code: 'job.poison' },
      })
      expect(record.error?.message).toContain('3')
      expect(await stage.state(bystander)).toBe('queued')
      expect(await stage.tally()).toEqual({ dead: 1, queued: 1 })
    })

    it('count across nodes, and rescues count like restarts', async () => {
      const id = await stage.submit({ attemptsMax: 99 })
      for (const name of ['a', 'b', 'c']) {
        const node = await stage.enlist(name)
        expect(await node.takeOne()).toMatchObject({ id })
        await stage.advance(leaseMs + 1)
        const { dead } = await stage.store.rescue(100)
        expect(dead).toEqual(name === 'c' ? [id] : [])
      }
      expect((await stage.record(id)).error?.code).toBe('job.poison')
    })

    it('a job whose last attempt crashed is dead: there are no free attempts', async () => {
      const id = await stage.submit({ attemptsMax: 2 })
      let node = await stage.enlist()
      await node.settle(settling.requeue(await node.takeOne()))
      await node.takeOne()
      const { recovered } = await stage.store.enlist(card(node.id))
      expect(recovered).toEqual({ requeued: 0, dead: [id], cancelled: 0 })
      expect(await stage.record(id)).toMatchObject({
        state: 'dead',
        attempt: 2,
        crashes: 1,
        error: { code: 'attempts.exhausted' },
      })
      node = await stage.enlist()
      expect(await node.takeAll()).toEqual([])
    })
  })

  async function byId() {
    return (await stage.store.nodes()).toSorted((one, two) => (one.id < two.id ? -1 : 1))
  }
}
