import { describe, expect, it } from 'vitest'
import { storeLimits } from '../../../src/runtime/store/job-store.ts'
import { idsOf, type Stage, settling } from './stage.ts'

export function claimingClaims(stage: Stage): void {
  describe('claiming', () => {
    it('hands over everything a worker needs, and the job runs', async () => {
      const { runAt: _, ...job } = stage.job({ key: 'k', priority: 7, body: '"b"' })
      await stage.store.add([{ ...job, runAt: null }])
      await stage.advance(1_000)
      const node = await stage.enlist('node-7')
      expect(await node.take()).toEqual([
        {
          ...job,
          createdAt: stage.now() - 1_000,
          attempt: 1,
          crashes: 0,
          fence: 1,
          sinceFence: 1,
          isObsolete: false,
        },
      ])
      expect(await stage.record(job.id)).toMatchObject({
        state: 'running',
        startedAt: stage.now(),
        nodeId: 'node-7',
        attempt: 1,
        fence: 1,
      })
    })

    it('an empty store has nothing, from null to null', async () => {
      const node = await stage.enlist()
      expect(await node.claim()).toEqual({ jobs: [], next: null })
    })

    it('takes no more than was asked for', async () => {
      const node = await stage.enlist()
      await stage.store.add(stage.jobs(10))
      expect(await node.take({ jobsMax: 4 })).toHaveLength(4)
      expect(await stage.tally()).toEqual({ queued: 6, running: 4 })
    })

    it('goes by priority, then by time, then by the order of submission', async () => {
      const at = stage.now() - 10_000
      const jobs = [
        stage.job({ priority: 1, runAt: at - 1 }),
        stage.job({ priority: 0, runAt: at }),
        stage.job({ priority: 0, runAt: at }),
        stage.job({ priority: 0, runAt: at - 1 }),
        stage.job({ priority: -1 }),
        stage.job({ priority: 0, runAt: at }),
      ]
      await stage.store.add(jobs)
      const node = await stage.enlist()
      const order = [4, 3, 1, 2, 5, 0].map((index) => jobs[index]!.id)
      expect(idsOf(await node.take({ jobsMax: 4 }))).toEqual(order.slice(0, 4))
      expect(idsOf(await node.take())).toEqual(order.slice(4))
    })

    it('never gives a job to two nodes that ask at once', async () => {
      const nodes = await Promise.all(['a', 'b', 'c', 'd'].map((id) => stage.enlist(id)))
      const jobs = stage.jobs(400)
      await stage.store.add(jobs)
      const rounds = await Promise.all(
        nodes.map(async (node) => {
          const taken: string[] = []
          for (let round = 0; round < 20; round++)
            taken.push(...idsOf(await node.take({ jobsMax: 10 })))
          return taken
        }),
      )
      const taken = rounds.flat()
      expect(new Set(taken).size).toBe(taken.length)
      // Whoever was passed by because another had it in hand is found by the next to look.
      taken.push(...idsOf(await nodes[0]!.takeAll()))
      expect(taken.toSorted()).toEqual(idsOf(jobs))
    })

    it('leaves jobs of types the node does not know', async () => {
      const known = await stage.submit({ type: 'fetch' })
      const unknown = await stage.submit({ type: 'later' })
      const node = await stage.enlist()
      expect(idsOf(await node.takeAll())).toEqual([known])
      expect(await stage.state(unknown)).toBe('queued')
      expect(await node.takeAll({ types: [] })).toEqual([])
      expect(idsOf(await node.takeAll({ types: ['later'] }))).toEqual([unknown])
    })

    it('leaves jobs of domains that cannot take a request now', async () => {
      const jobs = ['a.example', 'b.example', 'c.example'].map((domain) => stage.job({ domain }))
      await stage.store.add(jobs)
      const node = await stage.enlist()
      const refusedDomains = ['a.example', 'c.example', 'never.example']
      expect(idsOf(await node.takeAll({ refusedDomains }))).toEqual([jobs[1]!.id])
      expect(await node.takeAll()).toHaveLength(2)
    })

    it('counts the attempt, and the fence only grows', async () => {
      const id = await stage.submit({ attemptsMax: 9 })
      let node = await stage.enlist()
      const seen: [attempt: number, fence: number][] = []
      const take = async () => {
        const job = await node.takeOne()
        seen.push([job.attempt, job.fence])
        return job
      }
      await node.settle(settling.requeue(await take()))
      await node.settle(settling.park(await take()))
      await take()
      node = await stage.crash(node)
      await node.settle(settling.dead(await take()))
      await stage.store.replay({ ids: [id] }, { jobsMax: 1 })
      await take()
      expect(seen).toEqual([
        [1, 1],
        [2, 2],
        [2, 3],
        [3, 4],
        [1, 5],
      ])
    })

    it('a node that has been replaced gets nothing', async () => {
      const earlier = await stage.enlist('a')
      await stage.enlist('a')
      await stage.submit()
      expect(await earlier.claim()).toEqual({ jobs: [], next: null })
      expect(await stage.tally()).toEqual({ queued: 1 })
    })

    it('a node whose lease is over gets nothing until it has renewed it', async () => {
      const node = await stage.enlist()
      await stage.submit()
      await stage.advance(storeLimits.leaseMs + 1)
      expect(await node.take()).toEqual([])
      expect(await stage.store.beat(node.id, node.epoch)).toBe('renewed')
      expect(await node.take()).toHaveLength(1)
    })

    it('a node nobody knows gets nothing', async () => {
      await stage.submit()
      const node = await stage.enlist()
      expect(await node.take({ nodeId: 'stranger' })).toEqual([])
      expect(await stage.tally()).toEqual({ queued: 1 })
    })
  })

  describe('lanes', () => {
    it('a single job waits for at most one batch behind two thousand of another domain', async () => {
      await stage.store.add(stage.jobs(2_000, { domain: 'busy.example' }))
      const single = await stage.submit({ domain: 'quiet.example' })
      const node = await stage.enlist()
      expect(idsOf(await node.take({ jobsMax: 100 }))).toContain(single)
    })

    it('so does one of another type for the same domain', async () => {
      await stage.store.add(stage.jobs(2_000))
      const single = await stage.submit({ type: 'match' })
      const node = await stage.enlist()
      expect(idsOf(await node.take({ jobsMax: 100 }))).toContain(single)
    })

    it('priority counts within a lane, not between lanes', async () => {
      await stage.store.add(stage.jobs(200, { domain: 'a.example', priority: -100 }))
      const modest = await stage.submit({ domain: 'b.example', priority: 100 })
      const node = await stage.enlist()
      expect(idsOf(await node.take({ jobsMax: 10 }))).toContain(modest)
    })

    it('of one server give no more than may be held of it; those without a server all', async () => {
      for (let n = 0; n < 5; n++) await stage.submit({ domain: 'a.example' })
      for (let n = 0; n < 5; n++) await stage.submit({ domain: 'b.example' })
      for (let n = 0; n < 5; n++) await stage.submit({ domain: '' })
      const taken = await (await stage.enlist()).take({ domainJobsMax: 2 })
      const shares = Map.groupBy(taken, ({ domain }) => domain)
      expect(shares.get('a.example')).toHaveLength(2)
      expect(shares.get('b.example')).toHaveLength(2)
      expect(shares.get('')).toHaveLength(5)
    })

    it('share a batch equally', async () => {
      for (const domain of ['a', 'b', 'c']) await stage.store.add(stage.jobs(50, { domain }))
      const node = await stage.enlist()
      const taken = await node.take({ jobsMax: 30 })
      const shares = Map.groupBy(taken, ({ domain }) => domain)
      expect([...shares.values()].map(({ length }) => length)).toEqual([10, 10, 10])
    })

    it('three hundred of them are all served by one walk, few at a time', async () => {
      const domains = Array.from({ length: 300 }, (_, index) => `host-${index}.example`)
      await stage.store.add(domains.flatMap((domain) => stage.jobs(2, { domain })))
      const node = await stage.enlist()
      const claims = await node.walk()
      expect(claims.length).toBe(Math.ceil(300 / storeLimits.lanesMax))
      const served = new Set(claims.flatMap(({ jobs }) => jobs).map(({ domain }) => domain))
      expect(served.size).toBe(300)
    })

    it('more lanes than fit into a batch are all served by one walk', async () => {
      const domains = Array.from({ length: 10 }, (_, index) => `host-${index}.example`)
      await stage.store.add(domains.flatMap((domain) => stage.jobs(50, { domain })))
      const node = await stage.enlist()
      const claims = await node.walk({ jobsMax: 4 })
      expect(claims.every(({ jobs }) => jobs.length <= 4)).toBe(true)
      const served = new Set(claims.flatMap(({ jobs }) => jobs).map(({ domain }) => domain))
      expect([...served].toSorted()).toEqual(domains)
    })

    it('that must be left out hide none behind them', async () => {
      const domains = Array.from({ length: 300 }, (_, index) => `host-${1_000 + index}.example`)
      await stage.store.add(domains.map((domain) => stage.job({ domain })))
      const node = await stage.enlist()
      const taken = await node.takeAll({ refusedDomains: domains.slice(0, 280) })
      expect(taken.map(({ domain }) => domain).toSorted()).toEqual(domains.slice(280))
    })

    it('going on after a lane that has become empty finds the next', async () => {
      const domains = Array.from({ length: 200 }, (_, index) => `host-${1_000 + index}.example`)
      await stage.store.add(domains.map((domain) => stage.job({ domain })))
      const node = await stage.enlist()
      const first = await node.claim()
      const second = await node.claim({ after: first.next })
      expect(first.jobs.length + second.jobs.length).toBe(200)
      expect(second.next).toBeNull()
    })

    it('are listed with the number that waits in them, the fullest first', async () => {
      await stage.store.add(stage.jobs(2, { domain: 'few.example' }))
      await stage.store.add(stage.jobs(5, { domain: 'many.example' }))
      await stage.store.add(stage.jobs(3, { domain: 'many.example', type: 'match' }))
      await stage.store.add(stage.jobs(9, { runAt: stage.now() + 1 }))
      const all = [
        { type: 'fetch', domain: 'many.example', queued: 5 },
        { type: 'match', domain: 'many.example', queued: 3 },
        { type: 'fetch', domain: 'few.example', queued: 2 },
      ]
      expect(await stage.store.lanes(10)).toEqual(all)
      expect(await stage.store.lanes(2)).toEqual(all.slice(0, 2))
    })
  })
}
