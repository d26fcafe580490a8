import { describe, expect, it } from 'vitest'
import { type Settlement, storeLimits } from '../../../src/runtime/store/job-store.ts'
import { failure, idsOf, type Stage, settling } from './stage.ts'

export function settlementClaims(stage: Stage): void {
  describe('settling', () => {
    const ends: { kind: 'done' | 'skipped' | 'failed' | 'dead' | 'cancelled'; says: object }[] = [
      { kind: 'done', says: { result: '{}', error: null } },
      { kind: 'skipped', says: { result: null, reason: 'nothing to do' } },
      { kind: 'failed', says: { result: null, error: failure } },
      { kind: 'dead', says: { result: null, error: failure } },
      { kind: 'cancelled', says: { result: null, error: null } },
    ]

    it.each(ends)('$kind ends the job, and the record says so', async ({ kind, says }) => {
      const { node, job } = await stage.running()
      await stage.advance(250)
      expect(await node.settle(settling[kind](job))).toEqual(['settled'])
      expect(await stage.record(job.id)).toMatchObject({
        state: kind,
        attempt: 1,
        fence: 1,
        startedAt: stage.now() - 250,
        finishedAt: stage.now(),
        nodeId: node.id,
        ...says,
      })
      expect(await stage.store.pastAttempts(job.id)).toEqual([])
      expect(await stage.tally()).toEqual({ [kind]: 1 })
      expect(await node.takeAll()).toEqual([])
    })

    it('requeue sends it back at once, the attempt counted and remembered', async () => {
      const { node, job } = await stage.running()
      await stage.advance(250)
      expect(await node.settle(settling.requeue(job, 0))).toEqual(['settled'])
      expect(await stage.record(job.id)).toMatchObject({
        state: 'queued',
        attempt: 1,
        runAt: stage.now(),
        finishedAt: null,
      })
      expect(await stage.store.pastAttempts(job.id)).toEqual([
        {
          attempt: 1,
          fence: 1,
          nodeId: node.id,
          startedAt: stage.now() - 250,
          endedAt: stage.now(),
          kind: 'requeue',
          error: failure,
        },
      ])
      await stage.advance(100)
      expect((await node.takeOne()).attempt).toBe(2)
      expect((await stage.record(job.id)).startedAt).toBe(stage.now())
    })

    it('requeue with a delay puts it off by that much on the clock of the store', async () => {
      const { node, job } = await stage.running()
      await node.settle(settling.requeue(job, 1_500.5))
      const runAt = stage.now() + 1_501
      expect(await stage.record(job.id)).toMatchObject({ state: 'scheduled', runAt })
      expect(await node.takeAll()).toEqual([])
    })

    it('park gives the attempt back and says why it waits', async () => {
      const { node, job } = await stage.running({ attemptsMax: 1 })
      await stage.advance(250)
      expect(await node.settle(settling.park(job, 0, 'robots.txt asks for patience'))).toEqual([
        'settled',
      ])
      expect(await stage.record(job.id)).toMatchObject({
        state: 'queued',
        attempt: 0,
        reason: 'robots.txt asks for patience',
      })
      expect(await stage.store.pastAttempts(job.id)).toMatchObject([
        { attempt: 1, fence: 1, kind: 'park', error: null, endedAt: stage.now() },
      ])
      expect(await node.takeOne()).toMatchObject({ attempt: 1, fence: 2 })
    })

    it('park with a delay puts it off', async () => {
      const { node, job } = await stage.running()
      await node.settle(settling.park(job, 90_000))
      const runAt = stage.now() + 90_000
      expect(await stage.record(job.id)).toMatchObject({ state: 'scheduled', runAt, attempt: 0 })
    })

    it('past attempts are told in their order, and only the newest are kept', async () => {
      const { pastAttemptsMax } = storeLimits
      const { node, job } = await stage.running({ attemptsMax: 100 })
      let running = job
      for (let turn = 0; turn < pastAttemptsMax + 5; turn++) {
        await node.settle(settling.requeue(running, 0, { code: `code.${turn}`, message: '' }))
        running = await node.takeOne()
      }
      const past = await stage.store.pastAttempts(job.id)
      expect(past.map(({ error }) => error?.code)).toEqual(
        Array.from({ length: pastAttemptsMax }, (_, index) => `code.${index + 5}`),
      )
      expect(past.map(({ attempt }) => attempt)).toEqual(
        Array.from({ length: pastAttemptsMax }, (_, index) => index + 6),
      )
    })

    it('a batch of all kinds: each by itself, answered in its order', async () => {
      const node = await stage.enlist()
      await stage.store.add(stage.jobs(8))
      const [a, b, c, d, e, f, g, h] = await node.take()
      const verdicts = await node.settle(
        settling.done(a!, '"a"'),
        settling.requeue(b!),
        { ...settling.done(c!), fence: 99 },
        settling.failed(d!),
        settling.done({ id: stage.newId(), fence: 1 }),
        settling.park(e!, 5_000),
        settling.skipped(f!),
        settling.cancelled(g!),
        settling.dead(h!),
      )
      expect(verdicts).toEqual([
        'settled',
        'settled',
        'lost',
        'settled',
        'lost',
        'settled',
        'settled',
        'settled',
        'settled',
      ])
      expect(await stage.tally()).toEqual({
        done: 1,
        queued: 1,
        running: 1,
        failed: 1,
        scheduled: 1,
        skipped: 1,
        cancelled: 1,
        dead: 1,
      })
    })

    it('a thousand are settled at once, each with its own result', async () => {
      const node = await stage.enlist()
      await stage.store.add(stage.jobs(1_000))
      const jobs = await node.take()
      const verdicts = await node.settle(...jobs.map((job) => settling.done(job, `"${job.id}"`)))
      expect(verdicts.filter((verdict) => verdict === 'settled')).toHaveLength(1_000)
      const { jobs: records } = await stage.store.list({}, { after: null, jobsMax: 1_000 })
      expect(records.map(({ result }) => result)).toEqual(records.map(({ id }) => `"${id}"`))
    })

    it('of nothing answers nothing', async () => {
      const node = await stage.enlist()
      expect(await node.settle()).toEqual([])
      expect(await stage.store.note([])).toEqual([])
    })
  })

  describe('a settlement that comes too late', () => {
    const late: ((ticket: { id: string; fence: number }) => Settlement)[] = Object.values(settling)

    it('is lost when another has claimed the job since, and changes nothing', async () => {
      const { node, job } = await stage.running()
      await node.settle(settling.requeue(job))
      await node.takeOne()
      const before = await stage.record(job.id)
      for (const settle of late) expect(await node.settle(settle(job))).toEqual(['lost'])
      expect(await stage.record(job.id)).toEqual(before)
      expect(await stage.store.pastAttempts(job.id)).toHaveLength(1)
      expect(await stage.tally()).toEqual({ running: 1 })
    })

    it('is lost when the job has been taken from its node, claimed again or not', async () => {
      const { node, job } = await stage.running()
      await stage.crash(node)
      for (const settle of late) expect(await node.settle(settle(job))).toEqual(['lost'])
      expect(await stage.tally()).toEqual({ queued: 1 })
    })

    it('is lost when the fence is none the job ever had', async () => {
      const { node, job } = await stage.running()
      const wrong = [0, 2, -1].map((fence) => settling.done({ id: job.id, fence }))
      expect(await node.settle(...wrong)).toEqual(['lost', 'lost', 'lost'])
      expect(await stage.state(job.id)).toBe('running')
    })

    it('is lost when the job never ran, is gone or has no proper name', async () => {
      const node = await stage.enlist()
      const queued = await stage.submit()
      const ids = [queued, stage.newId(), 'nonsense', '']
      const verdicts = await node.settle(...ids.map((id) => settling.done({ id, fence: 0 })))
      expect(verdicts).toEqual(['lost', 'lost', 'lost', 'lost'])
      expect(await stage.tally()).toEqual({ queued: 1 })
    })
  })

  describe('a settlement whose answer was lost', () => {
    it.each(['done', 'skipped', 'failed', 'dead', 'cancelled', 'requeue', 'park'] as const)(
      'is settled when repeated (%s), and has happened once',
      async (kind) => {
        const { node, job } = await stage.running()
        await node.settle(settling[kind](job))
        const [record, past, tally] = await everything(job.id)
        await stage.advance(5_000)
        expect(await node.settle(settling[kind](job))).toEqual(['settled'])
        expect(await everything(job.id)).toEqual([record, past, tally])
      },
    )

    it('is settled twice within one batch, and has happened once', async () => {
      const { node, job } = await stage.running()
      const other = await stage.submit()
      const [second] = await node.take()
      expect(second?.id).toBe(other)
      const verdicts = await node.settle(
        settling.requeue(job),
        settling.done(second!),
        settling.requeue(job),
        settling.done(second!),
      )
      expect(verdicts).toEqual(['settled', 'settled', 'settled', 'settled'])
      expect(await stage.store.pastAttempts(job.id)).toHaveLength(1)
      expect(await stage.tally()).toEqual({ queued: 1, done: 1 })
    })

    it('does not end the job another way than the first time', async () => {
      const { node, job } = await stage.running()
      await node.settle(settling.done(job, '"kept"'))
      await node.settle(settling.failed(job), settling.requeue(job))
      expect(await stage.record(job.id)).toMatchObject({
        state: 'done',
        result: '"kept"',
        error: null,
      })
      expect(await stage.tally()).toEqual({ done: 1 })
    })

    it('is not mistaken for one after the job was put off and taken back from another', async () => {
      const { node, job } = await stage.running()
      await node.settle(settling.requeue(job))
      const other = await stage.enlist('node-2')
      await other.takeOne()
      await stage.crash(other)
      expect(await node.settle(settling.requeue(job))).toEqual(['lost'])
    })

    const everything = (id: string) =>
      Promise.all([stage.record(id), stage.store.pastAttempts(id), stage.tally()])
  })

  describe('a note', () => {
    it('tells how far the job is, without touching anything else', async () => {
      const { job } = await stage.running()
      const before = await stage.record(job.id)
      const note = { id: job.id, fence: job.fence }
      expect(await stage.store.note([{ ...note, progress: '{"page":3}' }])).toEqual(['noted'])
      expect(await stage.record(job.id)).toEqual({ ...before, progress: '{"page":3}' })
      expect(await stage.store.note([{ ...note, attempt: 3 }])).toEqual(['noted'])
      expect(await stage.store.note([{ ...note, attempt: 3 }])).toEqual(['noted'])
      expect(await stage.store.note([note])).toEqual(['noted'])
      expect(await stage.record(job.id)).toEqual({ ...before, progress: '{"page":3}', attempt: 3 })
    })

    it('sets the attempt from which the next claim counts', async () => {
      const { node, job } = await stage.running()
      await stage.store.note([{ id: job.id, fence: job.fence, attempt: 3 }])
      await node.settle(settling.requeue(job))
      expect((await node.takeOne()).attempt).toBe(4)
    })

    it('is judged by itself, and lost when the fence is old or the job does not run', async () => {
      const node = await stage.enlist()
      await stage.store.add(stage.jobs(3))
      const [again, ended, running] = await node.take()
      await node.settle(settling.requeue(again!), settling.done(ended!))
      await node.take()
      const tickets = [again!, ended!, running!, { id: stage.newId(), fence: 1 }]
      const notes = tickets.map(({ id, fence }) => ({ id, fence, progress: '"late"', attempt: 4 }))
      expect(await stage.store.note([...notes, { id: 'nonsense', fence: 1 }])).toEqual([
        'lost',
        'lost',
        'noted',
        'lost',
        'lost',
      ])
      const { jobs } = await stage.store.list({}, { after: null, jobsMax: 10 })
      const told = jobs.filter(({ progress }) => progress === '"late"')
      expect(idsOf(told)).toEqual([running!.id])
    })
  })
}
