import { describe, expect, it } from 'vitest'
import { type NewTask, storeLimits } from '../../../src/runtime/store/job-store.ts'
import { readerFor } from './outbox.ts'
import { failure, type Stage, settling } from './stage.ts'

const HOUR_MS = 3_600_000

export function taskClaims(stage: Stage): void {
  const task = (part: Partial<NewTask> = {}): NewTask => ({
    id: stage.newId(),
    groupId: 'project-1',
    type: 'match',
    body: '{"entry":1}',
    domain: 'a.example',
    priority: 2,
    ...part,
  })

  const relay = () => stage.store.relay(1_000, readerFor(stage))

  /** A task whose job runs. */
  async function underWay() {
    const wanted = task()
    await stage.store.tasks.put([wanted])
    await stage.store.tasks.queue(wanted.groupId, 10)
    await relay()
    const node = await stage.enlist()
    const job = await node.takeOne()
    return { node, job, taskId: wanted.id, state: () => stateOf(wanted.id) }
  }

  const stateOf = async (id: string) => (await stage.store.tasks.get(id))?.state

  describe('tasks', () => {
    it('are there as they were put, once', async () => {
      const first = task({ body: '"first"' })
      await stage.store.tasks.put([first, task()])
      await stage.store.tasks.put([{ ...first, body: '"again"' }, task()])
      expect(await stage.store.tasks.get(first.id)).toEqual({
        ...first,
        state: 'PENDING',
        updatedAt: stage.now(),
        result: null,
        error: null,
      })
      expect(await stage.store.tasks.get(stage.newId())).toBeUndefined()
      expect(await stage.store.tasks.counts('project-1')).toEqual({
        PENDING: 3,
        QUEUED: 0,
        COMPLETED: 0,
        REVIEW: 0,
        FAILED: 0,
        CANCELLED: 0,
      })
    })

    it('are queued into the outbox, no more than allowed, each once', async () => {
      await stage.store.tasks.put([task(), task(), task(), task({ groupId: 'project-2' })])
      expect(await stage.store.tasks.queue('project-1', 2)).toBe(2)
      expect(await stage.store.tasks.queue('project-1', 2)).toBe(1)
      expect(await stage.store.tasks.queue('project-1', 2)).toBe(0)
      expect((await stage.store.counts()).outbox).toBe(3)
      expect(await stage.store.tasks.counts('project-1')).toMatchObject({ PENDING: 0, QUEUED: 3 })
      expect(await stage.store.tasks.counts('project-2')).toMatchObject({ PENDING: 1 })
      expect(await relay()).toEqual({ moved: 3, refused: 0 })
    })

    it('asked for by several at once are queued once', async () => {
      await stage.store.tasks.put(Array.from({ length: 40 }, () => task()))
      const answers = await Promise.all(
        [1, 2, 3, 4].map(() => stage.store.tasks.queue('project-1', 100)),
      )
      expect(answers.reduce((sum, count) => sum + count, 0)).toBe(40)
      expect((await stage.store.counts()).outbox).toBe(40)
    })

    it('give their jobs what they need', async () => {
      const { job, taskId } = await underWay()
      expect(job).toMatchObject({
        type: 'match',
        body: '{"entry":1}',
        domain: 'a.example',
        priority: 2,
        taskId,
        isObsolete: false,
      })
    })

    it('get the result of their job, with its end', async () => {
      const { node, job, taskId } = await underWay()
      await stage.advance(500)
      expect(await node.settle(settling.done(job, '"found"'))).toEqual(['settled'])
      expect(await stage.store.tasks.get(taskId)).toMatchObject({
        state: 'COMPLETED',
        result: '"found"',
        updatedAt: stage.now(),
      })
    })

    it.each(['failed', 'dead'] as const)('fail with the error of a %s job', async (kind) => {
      const { node, job, taskId } = await underWay()
      await node.settle(settling[kind](job))
      expect(await stage.store.tasks.get(taskId)).toMatchObject({ state: 'FAILED', error: failure })
    })

    it.each(['requeue', 'park', 'skipped'] as const)('stay queued after %s', async (kind) => {
      const { node, job, state } = await underWay()
      expect(await node.settle(settling[kind](job))).toEqual(['settled'])
      expect(await state()).toBe('QUEUED')
    })

    it('that failed wait again when their job is replayed', async () => {
      const { node, job, taskId } = await underWay()
      await node.settle(settling.dead(job))
      expect(await stateOf(taskId)).toBe('FAILED')
      await stage.store.replay({ ids: [job.id] }, { jobsMax: 1 })
      expect(await stage.store.tasks.get(taskId)).toMatchObject({ state: 'QUEUED', error: null })
      expect(await node.takeOne()).toMatchObject({ id: job.id, isObsolete: false })
    })

    it('fail when their job is dead by crashes', async () => {
      const { node, state, taskId } = await underWay()
      for (let crash = 1; crash <= storeLimits.crashesMax; crash++) {
        expect(await state()).toBe('QUEUED')
        const again = await stage.crash(node)
        if (crash < storeLimits.crashesMax) await again.takeOne()
      }
      const error = { code: 'job.poison' }
      expect(await stage.store.tasks.get(taskId)).toMatchObject({ state: 'FAILED', error })
    })
  })

  describe('a task that changed while its job ran', () => {
    it.each(['done', 'failed', 'dead'] as const)(
      'is not touched by the end of the job (%s), which is recorded as skipped',
      async (kind) => {
        const { node, job, taskId } = await underWay()
        expect(await stage.store.tasks.cancel('project-1')).toBe(1)
        const before = await stage.store.tasks.get(taskId)
        await stage.advance(500)
        expect(await node.settle(settling[kind](job))).toEqual(['overtaken'])
        expect(await stage.store.tasks.get(taskId)).toEqual(before)
        const record = await stage.record(job.id)
        expect(record).toMatchObject({ state: 'skipped', result: null, finishedAt: stage.now() })
        expect(record.reason).toBeTruthy()
        expect(await stage.tally()).toEqual({ skipped: 1 })
      },
    )

    it('is no matter to a job that is skipped or cancelled itself', async () => {
      for (const kind of ['skipped', 'cancelled'] as const) {
        const { node, job, state } = await underWay()
        await stage.store.tasks.cancel('project-1')
        await stage.store.cancel(job.id)
        expect(await node.settle(settling[kind](job))).toEqual(['settled'])
        expect(await stage.state(job.id)).toBe(kind)
        expect(await state()).toBe('CANCELLED')
      }
    })

    it('overtakes a repeated settlement, too: it is not lost', async () => {
      const { node, job } = await underWay()
      await stage.store.tasks.cancel('project-1')
      await node.settle(settling.done(job))
      expect(await node.settle(settling.done(job))).not.toEqual(['lost'])
      expect(await stage.tally()).toEqual({ skipped: 1 })
    })

    it('may be gone altogether', async () => {
      const { node, job, taskId } = await underWay()
      expect(await stage.store.tasks.delete('project-1')).toBe(1)
      expect(await node.settle(settling.done(job))).toEqual(['overtaken'])
      expect(await stage.state(job.id)).toBe('skipped')
      expect(await stage.store.tasks.get(taskId)).toBeUndefined()
    })

    it('overtakes its own job only: the others of the batch are settled', async () => {
      const { node, job } = await underWay()
      await stage.store.tasks.cancel('project-1')
      await stage.submit()
      const other = await node.takeOne()
      expect(await node.settle(settling.done(job), settling.done(other))).toEqual([
        'overtaken',
        'settled',
      ])
      expect(await stage.tally()).toEqual({ skipped: 1, done: 1 })
    })

    it.each(['cancel', 'delete'] as const)(
      'makes a job that waits obsolete (%s)',
      async (change) => {
        const { node, job } = await underWay()
        await node.settle(settling.requeue(job))
        await stage.store.tasks[change]('project-1')
        const again = await node.takeOne()
        expect(again.isObsolete).toBe(true)
        expect(await node.settle(settling.skipped(again))).toEqual(['settled'])
      },
    )
  })

  describe('cancelling and deleting a group', () => {
    it('ends what has not ended, in that group', async () => {
      const { node, job, state } = await underWay()
      await node.settle(settling.done(job))
      const [pending, foreign] = [task(), task({ groupId: 'project-2' })]
      await stage.store.tasks.put([pending, foreign])
      expect(await stage.store.tasks.cancel('project-1')).toBe(1)
      expect(await stage.store.tasks.cancel('project-1')).toBe(0)
      expect(await state()).toBe('COMPLETED')
      expect(await stateOf(pending.id)).toBe('CANCELLED')
      expect(await stateOf(foreign.id)).toBe('PENDING')
      expect(await stage.store.tasks.delete('project-1')).toBe(2)
      expect(await stateOf(foreign.id)).toBe('PENDING')
    })
  })

  describe('cancelling a job cancels its task', () => {
    it('at once when it waits', async () => {
      const { node, job, state } = await underWay()
      await node.settle(settling.requeue(job))
      await stage.store.cancel(job.id)
      expect(await state()).toBe('CANCELLED')
    })

    it.each(['cancelled', 'requeue', 'park'] as const)(
      'when its node says so (%s)',
      async (kind) => {
        const { node, job, state } = await underWay()
        await stage.store.cancel(job.id)
        expect(await node.settle(settling[kind](job))).toEqual(['settled'])
        expect(await stage.state(job.id)).toBe('cancelled')
        expect(await state()).toBe('CANCELLED')
      },
    )

    it('when its node dies', async () => {
      const { node, job, state } = await underWay()
      await stage.store.cancel(job.id)
      await stage.crash(node)
      expect(await state()).toBe('CANCELLED')
    })
  })

  describe('a stray task', () => {
    const requeue = () => stage.store.tasks.requeueStray(HOUR_MS, 100)

    it('has been queued for long and has no live job: it gets one', async () => {
      const { node, job, state } = await underWay()
      await node.settle(settling.skipped(job))
      await stage.advance(HOUR_MS - 1)
      expect(await requeue()).toBe(0)
      await stage.advance(2)
      expect(await requeue()).toBe(1)
      expect(await requeue()).toBe(0)
      expect(await relay()).toEqual({ moved: 1, refused: 0 })
      const again = await stage.enlist('node-2')
      const retaken = await again.takeOne()
      expect(retaken).toMatchObject({ taskId: job.taskId, isObsolete: false })
      await again.settle(settling.done(retaken))
      expect(await state()).toBe('COMPLETED')
    })

    it('that got its job gets no other before it has waited as long again', async () => {
      const { node, job } = await underWay()
      await node.settle(settling.skipped(job))
      await stage.advance(HOUR_MS + 1)
      await requeue()
      await relay()
      const again = await stage.enlist('node-2')
      await again.settle(settling.skipped(await again.takeOne()))
      await stage.advance(HOUR_MS - 1)
      expect(await requeue()).toBe(0)
      await stage.advance(2)
      expect(await requeue()).toBe(1)
    })

    it('is not one whose row still waits in the outbox', async () => {
      await stage.store.tasks.put([task()])
      await stage.store.tasks.queue('project-1', 10)
      await stage.advance(HOUR_MS + 1)
      expect(await requeue()).toBe(0)
    })

    it('is not one whose job waits, is put off or runs', async () => {
      const { node, job } = await underWay()
      await stage.advance(HOUR_MS + 1)
      expect(await requeue()).toBe(0)
      await node.settle(settling.park(job, 10 * HOUR_MS))
      expect(await requeue()).toBe(0)
      await stage.advance(10 * HOUR_MS)
      await stage.store.promote(10)
      expect(await requeue()).toBe(0)
    })

    it('is not one that has ended', async () => {
      const { node, job } = await underWay()
      await node.settle(settling.done(job))
      await stage.store.tasks.put([task()])
      await stage.advance(HOUR_MS + 1)
      expect(await requeue()).toBe(0)
    })

    it('is one of many: no more than allowed are taken', async () => {
      const { node, job } = await underWay()
      await stage.store.tasks.put([task(), task()])
      await stage.store.tasks.queue('project-1', 10)
      await relay()
      const others = await node.take()
      await node.settle(...[job, ...others].map((each) => settling.skipped(each)))
      await stage.advance(HOUR_MS + 1)
      expect(await stage.store.tasks.requeueStray(HOUR_MS, 2)).toBe(2)
      expect(await stage.store.tasks.requeueStray(HOUR_MS, 2)).toBe(1)
    })
  })
}
