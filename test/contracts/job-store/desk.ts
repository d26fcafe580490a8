import { describe, expect, it } from 'vitest'
import { finalStates, type JobFilter, liveStates } from '../../../src/runtime/store/job-store.ts'
import { idsOf, type Stage, settling } from './stage.ts'

export function deskClaims(stage: Stage): void {
  const find = async (filter: JobFilter) =>
    idsOf((await stage.store.list(filter, { after: null, jobsMax: 100 })).jobs)

  describe('listing', () => {
    it('an empty store is one empty page', async () => {
      const page = { after: null, jobsMax: 10 }
      expect(await stage.store.list({}, page)).toEqual({ jobs: [], next: null })
    })

    it('shows the same as asking for each, newest first', async () => {
      const each = await stage.oneOfEach()
      const { jobs } = await stage.store.list({}, { after: null, jobsMax: 100 })
      expect(idsOf(jobs)).toEqual(Object.values(each).toSorted().toReversed())
      for (const job of jobs) expect(await stage.store.get(job.id)).toEqual(job)
    })

    it.each([1, 2, 3, 4, 6, 7])('in pages of %i shows every job once', async (jobsMax) => {
      const jobs = stage.jobs(6)
      await stage.store.add(jobs)
      const pages: string[][] = []
      let after: string | null = null
      do {
        const page = await stage.store.list({}, { after, jobsMax })
        pages.push(idsOf(page.jobs))
        after = page.next
      } while (after !== null && pages.length < 10)
      expect(pages.flat()).toEqual(idsOf(jobs).toReversed())
      expect(pages).toHaveLength(Math.ceil(6 / jobsMax))
    })

    it('goes on where it was, whatever has been submitted or has ended meanwhile', async () => {
      const jobs = stage.jobs(4)
      await stage.store.add(jobs)
      const first = await stage.store.list({}, { after: null, jobsMax: 2 })
      await stage.store.add(stage.jobs(5))
      await stage.store.cancel(jobs[2]!.id)
      const second = await stage.store.list({}, { after: first.next, jobsMax: 2 })
      expect(idsOf(second.jobs)).toEqual([jobs[1]!.id, jobs[0]!.id])
    })

    it('pages through a filter, too', async () => {
      const jobs = stage.jobs(20).map((job, index) => ({ ...job, priority: index % 4 }))
      await stage.store.add(jobs.map((job) => ({ ...job, type: job.priority ? 'fetch' : 'match' })))
      const first = await stage.store.list({ type: 'match' }, { after: null, jobsMax: 3 })
      const second = await stage.store.list({ type: 'match' }, { after: first.next, jobsMax: 3 })
      expect(idsOf([...first.jobs, ...second.jobs])).toEqual(
        idsOf(jobs.filter(({ priority }) => priority === 0)).toReversed(),
      )
      expect(second.next).toBeNull()
    })

    it.each([...liveStates, ...finalStates])('finds the %s ones', async (state) => {
      const each = await stage.oneOfEach()
      expect(await find({ states: [state] })).toEqual([each[state]])
    })

    it('finds by several states, by type, by domain, by ids, and by all of them', async () => {
      const jobs = [
        stage.job({ type: 'fetch', domain: 'a.example' }),
        stage.job({ type: 'match', domain: 'a.example' }),
        stage.job({ type: 'match', domain: 'b.example' }),
        stage.job({ type: 'match', domain: 'b.example', runAt: stage.now() + 1 }),
      ]
      await stage.store.add(jobs)
      const [a, b, c, d] = idsOf(jobs)
      expect(await find({ type: 'match' })).toEqual([d, c, b])
      expect(await find({ domain: 'a.example' })).toEqual([b, a])
      expect(await find({ states: ['queued', 'scheduled'] })).toEqual([d, c, b, a])
      expect(await find({ ids: [a!, d!, stage.newId(), 'nonsense'] })).toEqual([d, a])
      expect(await find({ ids: [], type: 'match' })).toEqual([])
      expect(
        await find({ type: 'match', domain: 'b.example', states: ['queued'], ids: [b!, c!] }),
      ).toEqual([c])
    })

    it('finds a text in the key or in the error, whatever the case', async () => {
      const byKey = await stage.submit({ key: 'Invoice/100%_sure' })
      const { node, job } = await stage.running({ priority: -1 })
      const error = { code: 'http.500', message: 'The Server said: 50% off_line\\' }
      await node.settle(settling.failed(job, error))
      await stage.submit({ key: 'other', body: '"invoice"' })
      expect(await find({ text: 'invoice' })).toEqual([byKey])
      expect(await find({ text: 'SERVER SAID' })).toEqual([job.id])
      expect(await find({ text: '0%_s' })).toEqual([byKey])
      expect(await find({ text: 'line\\' })).toEqual([job.id])
    })

    it.each(['%', '_', '%a%', 'o_her', '\\'])('takes %s in a text for itself', async (text) => {
      await stage.submit({ key: 'other' })
      await stage.submit({ key: null })
      expect(await find({ text })).toEqual([])
    })
  })

  describe('counting', () => {
    it('an empty store counts nothing', async () => {
      expect(await stage.store.counts()).toEqual({
        live: { queued: 0, scheduled: 0, running: 0 },
        ended: { done: 0, skipped: 0, failed: 0, dead: 0, cancelled: 0 },
        outbox: 0,
        oldestQueuedAt: null,
      })
    })

    it('counts each state', async () => {
      await stage.oneOfEach()
      await stage.submit()
      const { live, ended } = await stage.store.counts()
      expect(live).toEqual({ queued: 2, scheduled: 1, running: 1 })
      expect(ended).toEqual({ done: 1, skipped: 1, failed: 1, dead: 1, cancelled: 1 })
    })

    it('says since when the oldest queued job is due', async () => {
      const since = stage.now()
      const oldest = async () => (await stage.store.counts()).oldestQueuedAt
      await stage.submit({ runAt: since + 1_000, domain: 'b.example' })
      expect(await oldest()).toBeNull()
      await stage.advance(5_000)
      await stage.submit({ domain: 'a.example' })
      expect(await oldest()).toBe(since + 5_000)
      await stage.store.promote(1)
      expect(await oldest()).toBe(since + 1_000)
      await (await stage.enlist()).takeAll()
      expect(await oldest()).toBeNull()
    })

    it('counts what waits in the outbox', async () => {
      await stage.opened.writeOutbox([
        { type: 'fetch', body: '1' },
        { type: 'fetch', body: '2' },
      ])
      expect((await stage.store.counts()).outbox).toBe(2)
    })
  })
}
