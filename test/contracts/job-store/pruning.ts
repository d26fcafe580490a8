import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Retention } from '../../../src/runtime/store/job-store.ts'
import { idsOf, type Stage, settling } from './stage.ts'

const forever: Retention = {
  endedMs: Number.MAX_SAFE_INTEGER,
  failedMs: Number.MAX_SAFE_INTEGER,
  bytesMax: Number.MAX_SAFE_INTEGER,
}

export function pruningClaims(stage: Stage): void {
  const prune = async (part: Partial<Retention>, jobsMax = 1_000) =>
    (await stage.store.prune({ ...forever, ...part }, jobsMax)).pruned

  const left = async () =>
    idsOf((await stage.store.list({}, { after: null, jobsMax: 1_000 })).jobs).toSorted()

  describe('pruning', () => {
    it('removes nothing that is young enough, in a store that is small enough', async () => {
      await stage.oneOfEach()
      await stage.advance(1_000_000_000)
      expect(await prune({})).toBe(0)
      expect(await left()).toHaveLength(8)
    })

    it('removes done, skipped and cancelled jobs by their age, failed and dead by theirs', async () => {
      const each = await stage.oneOfEach()
      await stage.advance(1_001)
      const live = [each.queued, each.scheduled, each.running]
      const failed = [each.failed, each.dead]
      expect(await prune({ endedMs: 1_000, failedMs: 5_000 })).toBe(3)
      expect(await left()).toEqual([...live, ...failed].toSorted())
      await stage.advance(4_000)
      expect(await prune({ endedMs: 1_000, failedMs: 5_000 })).toBe(2)
      expect(await left()).toEqual(live.toSorted())
      expect(await prune({ endedMs: 0, failedMs: 0, bytesMax: 0 })).toBe(0)
    })

    it('counts the age from the end of a job, not from its submission', async () => {
      const { node, job } = await stage.running()
      await stage.advance(1_000_000)
      await node.settle(settling.done(job))
      await stage.advance(999)
      expect(await prune({ endedMs: 1_000 })).toBe(0)
      await stage.advance(2)
      expect(await prune({ endedMs: 1_000 })).toBe(1)
    })

    it('is not held up by an old job that is still alive', async () => {
      const old = await stage.submit({ runAt: stage.now() + 1_000_000_000 })
      const { node, job } = await stage.running()
      await node.settle(settling.done(job))
      await stage.advance(10_000)
      expect(await prune({ endedMs: 1_000 }, 1)).toBe(1)
      expect(await left()).toEqual([old])
    })

    it('removes no more than allowed, the oldest first', async () => {
      const ids = await ended(10)
      await stage.advance(2_000)
      expect(await prune({ endedMs: 1_000 }, 4)).toBe(4)
      expect(await left()).toEqual(ids.slice(4))
      expect(await prune({ endedMs: 1_000 }, 100)).toBe(6)
    })

    it('takes a job whole: its history goes, and its key is free again', async () => {
      const { node, job } = await stage.running({ key: 'k' })
      await node.settle(settling.requeue(job))
      await node.settle(settling.done(await node.takeOne()))
      await stage.advance(2_000)
      await prune({ endedMs: 1_000 })
      expect(await stage.store.get(job.id)).toBeUndefined()
      expect(await stage.store.pastAttempts(job.id)).toEqual([])
      const heir = stage.job({ key: 'k' })
      expect(await stage.store.add([heir])).toEqual([{ id: heir.id, isNew: true }])
      expect(await stage.store.pastAttempts(heir.id)).toEqual([])
    })

    it('does not lower the number of ended jobs', async () => {
      await ended(3)
      await stage.advance(2_000)
      await prune({ endedMs: 1_000 })
      expect(await stage.tally()).toEqual({ done: 3 })
    })

    it('removes the oldest ended jobs, and never a live one, while the store is too large', async () => {
      const live = await stage.submit({ domain: 'live.example', runAt: stage.now() + 1_000_000 })
      const ids = await ended(5)
      expect(await prune({ bytesMax: 0 }, 2)).toBe(2)
      expect(await left()).toEqual([live, ...ids.slice(2)].toSorted())
      expect(await prune({ bytesMax: 0 })).toBe(3)
      expect(await prune({ bytesMax: 0 })).toBe(0)
      expect(await left()).toEqual([live])
    })

    it('stops when the store is small enough', async () => {
      const body = () => JSON.stringify(randomBytes(30_000).toString('base64'))
      const node = await stage.enlist()
      const ids: string[] = []
      for (let batch = 0; batch < 4; batch++) {
        const jobs = stage.jobs(50).map((job) => ({ ...job, body: body() }))
        await stage.store.add(jobs)
        ids.push(...idsOf(jobs))
      }
      await node.settle(...(await node.take()).map((job) => settling.done(job)))
      let turns = 0
      while ((await prune({ bytesMax: 4_000_000 }, 20)) > 0) expect(turns++).toBeLessThan(20)
      const kept = await left()
      expect(kept.length).toBeGreaterThan(20)
      expect(kept.length).toBeLessThan(150)
      expect(kept).toEqual(ids.slice(-kept.length))
    })
  })

  /** Ids of jobs that are done, the oldest first. */
  async function ended(count: number): Promise<string[]> {
    const node = await stage.enlist()
    const jobs = stage.jobs(count)
    await stage.store.add(jobs)
    await node.settle(...(await node.takeAll()).map((job) => settling.done(job)))
    return idsOf(jobs)
  }
}
