import { describe, expect, it } from 'vitest'
import type { PauseScope } from '../../../src/runtime/store/job-store.ts'
import { idsOf, type Stage, settling, type WorkingNode } from './stage.ts'

/** Pauses, which people order, and suspects, which the store holds back by itself. */
export function holdingBackClaims(stage: Stage): void {
  describe('a pause', () => {
    const scopes: { what: string; scope: PauseScope; stopped: number[] }[] = [
      { what: 'everything', scope: { kind: 'all' }, stopped: [0, 1, 2] },
      { what: 'a type', scope: { kind: 'type', name: 'match' }, stopped: [1, 2] },
      { what: 'a domain', scope: { kind: 'domain', name: 'b.example' }, stopped: [2] },
    ]

    it.each(scopes)('of $what holds at once, and ends at once', async ({ scope, stopped }) => {
      const jobs = [
        stage.job({ type: 'fetch', domain: 'a.example' }),
        stage.job({ type: 'match', domain: 'a.example' }),
        stage.job({ type: 'match', domain: 'b.example' }),
      ]
      const held = stopped.map((index) => jobs[index]!.id)
      const node = await stage.enlist()
      await stage.store.pause(scope)
      expect(await stage.store.pauses()).toEqual([scope])
      await stage.store.add(jobs)
      const free = idsOf(await node.takeAll())
      expect(free.toSorted()).toEqual(idsOf(jobs).filter((id) => !held.includes(id)))
      await stage.store.resume(scope)
      expect(await stage.store.pauses()).toEqual([])
      expect(idsOf(await node.takeAll()).toSorted()).toEqual(held)
    })

    it('leaves what runs alone', async () => {
      const { node, job } = await stage.running()
      await stage.store.pause({ kind: 'all' })
      expect(await node.settle(settling.done(job))).toEqual(['settled'])
    })

    it('said twice is ended by one resume; ending what is not paused is no error', async () => {
      const scope: PauseScope = { kind: 'type', name: 'fetch' }
      await stage.store.pause(scope)
      await stage.store.pause(scope)
      expect(await stage.store.pauses()).toEqual([scope])
      await stage.store.resume(scope)
      await stage.store.resume(scope)
      expect(await stage.store.pauses()).toEqual([])
    })

    it('of a domain goes on when everything is resumed', async () => {
      const scope: PauseScope = { kind: 'domain', name: 'a.example' }
      await stage.store.pause(scope)
      await stage.store.pause({ kind: 'all' })
      await stage.store.resume({ kind: 'all' })
      await stage.submit({ domain: 'a.example' })
      const other = await stage.submit({ domain: 'b.example' })
      const node = await stage.enlist()
      expect(await stage.store.pauses()).toEqual([scope])
      expect(idsOf(await node.takeAll())).toEqual([other])
    })

    it('a type, a domain and everything do not get in the way of names like theirs', async () => {
      await stage.store.pause({ kind: 'type', name: 'a.example' })
      await stage.store.pause({ kind: 'domain', name: 'fetch' })
      await stage.store.pause({ kind: 'domain', name: '*' })
      await stage.store.pause({ kind: 'type', name: 'domain:a.example' })
      expect(await stage.store.pauses()).toHaveLength(4)
      await stage.submit({ type: 'fetch', domain: 'a.example' })
      const node = await stage.enlist()
      expect(await node.takeAll()).toHaveLength(1)
    })
  })

  describe('a suspect', () => {
    /** Jobs that were running in two crashes, and the node that survived them. */
    async function suspects(count: number): Promise<{ node: WorkingNode; ids: string[] }> {
      let node = await stage.enlist()
      const jobs = stage.jobs(count)
      await stage.store.add(jobs)
      for (let crash = 0; crash < 2; crash++) {
        await node.takeAll()
        node = await stage.crash(node)
      }
      return { node, ids: idsOf(jobs) }
    }

    it('is a job that was running in two crashes, not in one', async () => {
      let node = await stage.enlist()
      await stage.submit()
      await node.takeOne()
      node = await stage.crash(node)
      const once = await node.takeOne({ takesSuspect: false })
      expect(once.crashes).toBe(1)
      node = await stage.crash(node)
      expect(await node.take({ takesSuspect: false })).toEqual([])
      expect((await node.takeOne({ takesSuspect: true })).crashes).toBe(2)
    })

    it('comes alone, though others of its kind wait too', async () => {
      const { node, ids } = await suspects(3)
      const taken: string[] = []
      for (let turn = 1; turn <= 3; turn++) {
        taken.push(...idsOf(await node.take({ takesSuspect: true })))
        expect(taken).toHaveLength(turn)
        expect(await node.take({ takesSuspect: false })).toEqual([])
      }
      expect(taken.toSorted()).toEqual(ids)
    })

    it('comes alone, though others wait in other lanes', async () => {
      let node = await stage.enlist()
      const domains = ['a.example', 'b.example', 'c.example']
      await stage.store.add(domains.map((domain) => stage.job({ domain })))
      for (let crash = 0; crash < 2; crash++) {
        await node.takeAll()
        node = await stage.crash(node)
      }
      expect(await node.take({ takesSuspect: true })).toHaveLength(1)
    })

    it('does not stop the others', async () => {
      const { node } = await suspects(5)
      const others = stage.jobs(20)
      await stage.store.add(others)
      expect(idsOf(await node.take({ takesSuspect: false })).toSorted()).toEqual(idsOf(others))
    })

    it('is held back by pauses, refused domains and unknown types like any other', async () => {
      const { node } = await suspects(1)
      expect(await node.takeAll({ refusedDomains: ['a.example'] })).toEqual([])
      expect(await node.takeAll({ types: ['match'] })).toEqual([])
      for (const scope of [
        { kind: 'all' },
        { kind: 'type', name: 'fetch' },
        { kind: 'domain', name: 'a.example' },
      ] as const) {
        await stage.store.pause(scope)
        expect(await node.takeAll()).toEqual([])
        await stage.store.resume(scope)
      }
      expect(await node.takeAll()).toHaveLength(1)
    })

    it('stays one when it is requeued', async () => {
      const { node } = await suspects(1)
      const job = await node.takeOne()
      await node.settle(settling.requeue(job, 1_000))
      await stage.advance(1_000)
      await stage.store.promote(10)
      expect(await node.take({ takesSuspect: false })).toEqual([])
      expect(await node.take({ takesSuspect: true })).toHaveLength(1)
    })

    it('is listed among the jobs of its type and domain', async () => {
      await suspects(2)
      await stage.submit()
      const lanes = await stage.store.lanes(10)
      const named = lanes.filter(({ type, domain }) => type === 'fetch' && domain === 'a.example')
      expect(named).toHaveLength(lanes.length)
      expect(lanes.reduce((sum, { queued }) => sum + queued, 0)).toBe(3)
    })
  })
}
