import { describe, expect, it } from 'vitest'
import { finalStates } from '../../../src/runtime/store/job-store.ts'
import { failure, idsOf, type Stage, settling } from './stage.ts'

export function steeringClaims(stage: Stage): void {
  describe('cancelling', () => {
    it.each(['queued', 'scheduled'] as const)('a %s job ends it at once', async (state) => {
      const id = (await stage.oneOfEach())[state]
      const before = await stage.store.counts()
      expect(await stage.store.cancel(id)).toBe('cancelled')
      expect(await stage.record(id)).toMatchObject({
        state: 'cancelled',
        finishedAt: stage.now(),
        attempt: 0,
      })
      const after = await stage.store.counts()
      expect(after.live[state]).toBe(before.live[state] - 1)
      expect(after.ended.cancelled).toBe(before.ended.cancelled + 1)
      await stage.advance(120_000)
      await stage.store.promote(100)
      const node = await stage.enlist()
      expect(idsOf(await node.takeAll())).not.toContain(id)
    })

    it('a running job is asked of its node, and of no other', async () => {
      const { node, job } = await stage.running()
      expect(await stage.store.cancellations(node.id)).toEqual([])
      expect(await stage.store.cancel(job.id)).toBe('requested')
      expect(await stage.record(job.id)).toMatchObject({
        state: 'running',
        isCancelRequested: true,
      })
      expect(await stage.store.cancel(job.id)).toBe('requested')
      expect(await stage.store.cancellations(node.id)).toEqual([job.id])
      expect(await stage.store.cancellations('node-2')).toEqual([])
      expect(await node.settle(settling.cancelled(job))).toEqual(['settled'])
      expect(await stage.store.cancellations(node.id)).toEqual([])
      expect(await stage.tally()).toEqual({ cancelled: 1 })
    })

    it.each(finalStates)('a %s job changes nothing', async (state) => {
      const id = (await stage.oneOfEach())[state]
      const before = await stage.record(id)
      expect(await stage.store.cancel(id)).toBe('final')
      expect(await stage.record(id)).toEqual(before)
    })

    it('what does not exist is unknown, whatever its name', async () => {
      expect(await stage.store.cancel(stage.newId())).toBe('unknown')
      expect(await stage.store.cancel('nonsense')).toBe('unknown')
      expect(await stage.store.get('nonsense')).toBeUndefined()
      expect(await stage.store.pastAttempts('nonsense')).toEqual([])
    })

    it.each(['requeue', 'park'] as const)(
      'a job that its node sends back (%s) ends it there',
      async (kind) => {
        const { node, job } = await stage.running()
        await stage.store.cancel(job.id)
        expect(await node.settle(settling[kind](job, 1_000))).toEqual(['settled'])
        expect(await stage.record(job.id)).toMatchObject({
          state: 'cancelled',
          finishedAt: stage.now(),
          attempt: 1,
          error: null,
          reason: null,
        })
        expect(await stage.store.pastAttempts(job.id)).toEqual([])
        expect(await stage.tally()).toEqual({ cancelled: 1 })
        expect(await node.settle(settling[kind](job, 1_000))).toEqual(['settled'])
      },
    )

    it.each(['done', 'skipped', 'failed', 'dead'] as const)(
      'a job that has come to its end (%s) comes too late',
      async (kind) => {
        const { node, job } = await stage.running()
        await stage.store.cancel(job.id)
        expect(await node.settle(settling[kind](job))).toEqual(['settled'])
        expect(await stage.tally()).toEqual({ [kind]: 1 })
      },
    )

    it('a job whose node dies ends it instead of running it again', async () => {
      const { node, job } = await stage.running()
      await stage.store.cancel(job.id)
      const { recovered } = await stage.store.enlist({
        id: node.id,
        role: 'worker',
        address: null,
        version: '1',
      })
      expect(recovered).toEqual({ requeued: 0, dead: [], cancelled: 1 })
      expect(await stage.tally()).toEqual({ cancelled: 1 })
    })
  })

  describe('promoting', () => {
    it('makes ready what is due, and says when the next will be', async () => {
      const node = await stage.enlist()
      const [soon, later] = [stage.now() + 1_000, stage.now() + 5_000]
      const ids = [await stage.submit({ runAt: later }), await stage.submit({ runAt: soon })]
      expect(await stage.store.promote(10)).toEqual({ promoted: 0, nextDueInMs: 1_000 })
      await stage.advance(999)
      expect(await stage.store.promote(10)).toEqual({ promoted: 0, nextDueInMs: 1 })
      expect(await node.takeAll()).toEqual([])
      await stage.advance(1)
      expect(await stage.store.promote(10)).toEqual({ promoted: 1, nextDueInMs: 4_000 })
      expect(await stage.record(ids[1]!)).toMatchObject({ state: 'queued', runAt: soon })
      expect(idsOf(await node.takeAll())).toEqual([ids[1]])
      await stage.advance(4_000)
      expect(await stage.store.promote(10)).toEqual({ promoted: 1, nextDueInMs: null })
      expect(await stage.store.promote(10)).toEqual({ promoted: 0, nextDueInMs: null })
    })

    it('moves no more than allowed, the longest due first, and asks to be called again', async () => {
      const at = stage.now()
      const jobs = [3, 1, 2].map((second) => stage.job({ runAt: at + second * 1_000 }))
      await stage.store.add(jobs)
      await stage.advance(10_000)
      const { promoted, nextDueInMs } = await stage.store.promote(2)
      expect(promoted).toBe(2)
      expect(nextDueInMs).toBeLessThanOrEqual(0)
      expect(await stage.state(jobs[0]!.id)).toBe('scheduled')
      expect(await stage.store.promote(2)).toEqual({ promoted: 1, nextDueInMs: null })
    })

    it('by several nodes at once makes each job ready once', async () => {
      await stage.store.add(stage.jobs(50, { runAt: stage.now() + 1 }))
      await stage.advance(1)
      const answers = await Promise.all([1, 2, 3, 4].map(() => stage.store.promote(100)))
      await stage.store.promote(100)
      expect(answers.reduce((sum, { promoted }) => sum + promoted, 0)).toBeLessThanOrEqual(50)
      expect(await stage.tally()).toEqual({ queued: 50 })
    })
  })

  describe('replaying', () => {
    it('begins another life: what was kept of the one before is not its own', async () => {
      const { node, job } = await stage.running()
      expect(job).toMatchObject({ fence: 1, sinceFence: 1 })
      await node.settle(settling.requeue(job, 0))
      const again = await node.takeOne()
      expect(again).toMatchObject({ fence: 2, sinceFence: 1 })
      await node.settle(settling.dead(again))
      await stage.store.replay({ ids: [job.id] }, { jobsMax: 1 })
      expect(await node.takeOne()).toMatchObject({ fence: 3, sinceFence: 3 })
    })

    it('takes a dead job back to the queue as if it were new, its history kept', async () => {
      const { node, job } = await stage.running({ attemptsMax: 2, key: 'k', body: '"old"' })
      await stage.store.note([{ id: job.id, fence: job.fence, progress: '1' }])
      await stage.advance(1_000)
      await node.settle(settling.dead(job))
      await stage.advance(60_000)
      expect(await stage.store.replay({ ids: [job.id] }, { jobsMax: 10 })).toEqual([job.id])
      expect(await stage.record(job.id)).toMatchObject({
        state: 'queued',
        key: 'k',
        body: '"old"',
        attempt: 0,
        attemptsMax: 2,
        crashes: 0,
        fence: 1,
        runAt: stage.now(),
        startedAt: stage.now() - 61_000,
        finishedAt: null,
        result: null,
        progress: null,
        error: null,
        isCancelRequested: false,
      })
      expect(await stage.store.pastAttempts(job.id)).toEqual([
        {
          attempt: 1,
          fence: 1,
          nodeId: node.id,
          startedAt: stage.now() - 61_000,
          endedAt: stage.now() - 60_000,
          kind: 'replay',
          error: failure,
        },
      ])
      expect(await stage.store.beat(node.id, node.epoch)).toBe('renewed')
      expect(await node.takeOne()).toMatchObject({ attempt: 1, fence: 2 })
    })

    it('with an edited body runs that body from then on', async () => {
      const { node, job } = await stage.running({ body: '"old"' })
      await node.settle(settling.failed(job))
      await stage.store.replay({ ids: [job.id] }, { body: '"new"', jobsMax: 1 })
      const again = await node.takeOne()
      expect(again.body).toBe('"new"')
      expect((await stage.record(job.id)).body).toBe('"new"')
    })

    it('without states means what failed, died or was cancelled', async () => {
      const each = await stage.oneOfEach()
      const replayed = await stage.store.replay({}, { jobsMax: 100 })
      expect(replayed.toSorted()).toEqual([each.failed, each.dead, each.cancelled].toSorted())
      expect(await stage.store.replay({ ids: Object.values(each) }, { jobsMax: 100 })).toEqual([])
      expect(await stage.state(each.done)).toBe('done')
      expect(await stage.state(each.skipped)).toBe('skipped')
    })

    it('goes by the filter, and never touches a job that has not ended', async () => {
      const each = await stage.oneOfEach()
      const all = [...finalStates, 'queued', 'scheduled', 'running'] as const
      const before = await Promise.all(
        [each.queued, each.scheduled, each.running].map((id) => stage.record(id)),
      )
      expect(await stage.store.replay({ states: ['done'] }, { jobsMax: 9 })).toEqual([each.done])
      expect(await stage.store.replay({ type: 'match' }, { jobsMax: 9 })).toEqual([])
      expect(await stage.store.replay({ domain: 'b.example' }, { jobsMax: 9 })).toEqual([])
      expect(await stage.store.replay({ ids: ['nonsense'] }, { jobsMax: 9 })).toEqual([])
      expect(await stage.store.replay({ text: 'NO SUCH ERROR' }, { jobsMax: 9 })).toEqual([])
      expect(await stage.store.replay({ states: [...all] }, { jobsMax: 9 })).toHaveLength(4)
      const after = await Promise.all(
        [each.queued, each.scheduled, each.running].map((id) => stage.record(id)),
      )
      expect(after).toEqual(before)
    })

    it('takes the newest first, and no more than allowed', async () => {
      const node = await stage.enlist()
      await stage.store.add(stage.jobs(5))
      const jobs = await node.take()
      await node.settle(...jobs.map((job) => settling.failed(job)))
      const newestFirst = idsOf(jobs).toReversed()
      expect(await stage.store.replay({}, { jobsMax: 2 })).toEqual(newestFirst.slice(0, 2))
      expect(await stage.store.replay({}, { jobsMax: 9 })).toEqual(newestFirst.slice(2))
    })

    it('a job that was cancelled before it ever ran gives it its first run', async () => {
      const id = await stage.submit()
      await stage.store.cancel(id)
      expect(await stage.store.replay({ ids: [id] }, { jobsMax: 1 })).toEqual([id])
      for (const { nodeId, startedAt, endedAt } of await stage.store.pastAttempts(id)) {
        expect(typeof nodeId).toBe('string')
        expect([startedAt, endedAt]).toEqual([stage.now(), stage.now()])
      }
      const node = await stage.enlist()
      expect(await node.takeOne()).toMatchObject({ id, attempt: 1, fence: 1 })
    })

    it('forgets that somebody wanted it cancelled', async () => {
      const { node, job } = await stage.running()
      await stage.store.cancel(job.id)
      await node.settle(settling.cancelled(job))
      await stage.store.replay({ ids: [job.id] }, { jobsMax: 1 })
      const again = await node.takeOne()
      expect(await stage.store.cancellations(node.id)).toEqual([])
      await node.settle(settling.requeue(again))
      expect(await stage.tally()).toEqual({ queued: 1, cancelled: 1 })
    })

    it('a job that killed its node three times is no suspect any more', async () => {
      let node = await stage.enlist()
      const id = await stage.submit({ attemptsMax: 9 })
      for (let crash = 0; crash < 3; crash++) {
        await node.takeOne()
        node = await stage.crash(node)
      }
      expect(await stage.state(id)).toBe('dead')
      await stage.store.replay({ ids: [id] }, { jobsMax: 1 })
      expect(await node.takeOne({ takesSuspect: false })).toMatchObject({ id, crashes: 0 })
    })

    it('a job that ends twice is counted twice among the ended', async () => {
      const { node, job } = await stage.running()
      await node.settle(settling.failed(job))
      await stage.store.replay({}, { jobsMax: 1 })
      await node.settle(settling.done(await node.takeOne()))
      expect(await stage.tally()).toEqual({ failed: 1, done: 1 })
    })
  })
}
