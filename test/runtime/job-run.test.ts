/** What becomes of what somebody's code returns, throws and keeps. */
import { expect, it } from 'vitest'
import type { AnyJob, JobContext } from '../../src/jobs/define-job.ts'
import { countedJob, gate, startedRuntime } from './test-runtime.ts'

it('a job that has nothing to do is skipped, with the reason', async () => {
  const { job } = countedJob(({ skip }) => skip('it was done before'))
  const node = await startedRuntime([job])
  const id = await node.submit('it')
  expect(await node.ended(id)).toBe('skipped')
  expect(await node.runtime.get(id)).toMatchObject({
    state: 'skipped',
    reason: 'it was done before',
  })
})

it('a job that fails is tried again, and each try costs an attempt', async () => {
  const { job, calls } = countedJob(({ retry }, call) => (call < 3 ? retry('not yet') : 'yes'))
  const node = await startedRuntime([job])
  const id = await node.submit('it')
  expect(await node.ended(id)).toBe('done')
  expect(calls.map(({ job: { attempt } }) => attempt)).toEqual([1, 2, 3])
  expect((await node.runtime.get(id))?.envelope.header.attempt).toBe(3)
})

it('a long pause is waited out in the queue, and the attempt stays counted', async () => {
  const { job, calls } = countedJob(({ retry }, call) =>
    call === 1 ? retry('not yet', { afterMs: 30_000 }) : 'yes',
  )
  const node = await startedRuntime([job])
  const id = await node.submit('it')
  const at = node.clock.now()
  expect(await node.ended(id)).toBe('done')
  expect(node.clock.now() - at).toBeGreaterThanOrEqual(30_000)
  expect(node.of('job.settled', id).map(({ as }) => as)).toEqual(['requeued', 'done'])
  expect(calls.map(({ job: { attempt } }) => attempt)).toEqual([1, 2])
  expect((await node.runtime.get(id))?.attempts).toMatchObject([
    { attempt: 1, kind: 'requeue', error: { message: 'not yet' } },
  ])
})

it('waiting costs no attempt, however short or long', async () => {
  const { job, calls } = countedJob(({ wait, now }, call) =>
    call < 3 ? wait(now() + (call === 1 ? 1_000 : 30_000), 'busy') : 'yes',
  )
  const node = await startedRuntime([job])
  const id = await node.submit('it', null, { attemptsMax: 1 })
  expect(await node.ended(id)).toBe('done')
  expect(calls.map(({ job: { attempt } }) => attempt)).toEqual([1, 1, 1])
})

it('a rejected job fails at once', async () => {
  const { job, calls } = countedJob(({ reject }) => reject({ code: 'no.such', message: 'Gone.' }))
  const node = await startedRuntime([job])
  const id = await node.submit('it')
  expect(await node.ended(id)).toBe('failed')
  expect(calls).toHaveLength(1)
  expect(await node.runtime.get(id)).toMatchObject({
    state: 'failed',
    error: { code: 'no.such', message: 'Gone.' },
  })
})

it('a job that throws every time is dead when its attempts are used up', async () => {
  const { job, calls } = countedJob(() => {
    throw new Error('broken')
  })
  const node = await startedRuntime([job])
  const id = await node.submit('it', null, { attemptsMax: 3 })
  expect(await node.ended(id)).toBe('dead')
  expect(calls).toHaveLength(3)
  expect((await node.runtime.get(id))?.error).toEqual({ code: 'job.failed', message: 'broken' })
})

it.each([
  ['a function', () => () => {}],
  ['a BigInt', () => 1n],
  [
    'something circular',
    () => {
      const it: { self?: unknown } = {}
      it.self = it
      return it
    },
  ],
  ['too much', () => 'x'.repeat(300_000)],
])('a job that returns %s fails, and says why', async (_, make) => {
  const { job, calls } = countedJob(() => make())
  const node = await startedRuntime([job])
  const id = await node.submit('it')
  expect(await node.ended(id)).toBe('failed')
  expect(calls).toHaveLength(1)
  expect((await node.runtime.get(id))?.error?.code).toBe('result.invalid')
})

it.each<[string, () => unknown]>([
  ['nothing', () => undefined],
  ['null', () => null],
  ['an object without a prototype', () => Object.create(null)],
  [
    'an error whose message is no text',
    () => Object.assign(new Error('x'), { message: undefined }),
  ],
  [
    'an error that is its own cause',
    () => {
      const error = new Error('round')
      error.cause = error
      return error
    },
  ],
])('a job that throws %s is tried again like any other', async (_, make) => {
  const { job, calls } = countedJob((_context, call) => {
    if (call === 1) return Promise.reject(make())
    return 'yes'
  })
  const node = await startedRuntime([job])
  const id = await node.submit('it')
  expect(await node.ended(id)).toBe('done')
  expect(calls).toHaveLength(2)
})

it('a result that has a field named then is a result', async () => {
  const { job } = countedJob(() => JSON.parse('{"then":"later"}'))
  const node = await startedRuntime([job])
  const id = await node.submit('it')
  expect(await node.ended(id)).toBe('done')
  expect((await node.runtime.get(id))?.result).toHaveProperty('then', 'later')
})

it.each([
  ['wait for ever', (context: JobContext) => context.wait(Number.POSITIVE_INFINITY, 'x')],
  ['wait until no time', (context: JobContext) => context.wait(Number.NaN, 'x')],
  ['retry after no time', (context: JobContext) => context.retry('x', { afterMs: Number.NaN })],
])('a job that wants to %s is told so, and harms no other', async (_, wish) => {
  const { job } = countedJob((context) => wish(context), { attemptsMax: 1 })
  const other: AnyJob = { type: 'other', version: '1', run: () => 'fine' }
  const node = await startedRuntime([job, other])
  const [bad, good] = await Promise.all([node.submit('it'), node.submit('other')])
  expect(await node.ended(good)).toBe('done')
  expect(await node.ended(bad)).toBe('dead')
  expect((await node.runtime.get(bad))?.error?.message).toMatch(/finite number/)
})

it('what a job last handed to checkpoint is given back to its next attempt', async () => {
  const seen: unknown[] = []
  const { job } = countedJob(async ({ checkpoint, checkpointed, retry }, call) => {
    seen.push(checkpointed)
    if (call === 3) return 'yes'
    const place = { page: call }
    await checkpoint(place)
    // What it does to its own value afterwards is its own affair.
    place.page = 99
    return retry('on', { afterMs: call === 1 ? 0 : 30_000 })
  })
  const node = await startedRuntime([job])
  const id = await node.submit('it')
  expect(await node.ended(id)).toBe('done')
  expect(seen).toEqual([undefined, { page: 1 }, { page: 2 }])
})

it('a checkpoint that is not JSON is refused to the handler, not kept', async () => {
  const { job } = countedJob(({ checkpoint }) => checkpoint(() => {}), { attemptsMax: 1 })
  const node = await startedRuntime([job])
  const id = await node.submit('it')
  expect(await node.ended(id)).toBe('dead')
  expect((await node.runtime.get(id))?.error?.message).toMatch(/cannot be a checkpoint/)
})

it('a job whose third state fails is tried again in its third state only', async () => {
  const calls: string[] = []
  const works: unknown[] = []
  const job: AnyJob = {
    type: 'staged',
    version: '1',
    backoff: { kind: 'schedule', delaysMs: [500, 30_000] },
    states: {
      load: { description: 'Loads.', on: { PERFORMED: 'score' } },
      score: { description: 'Scores.', on: { PERFORMED: 'save', EMPTY: 'load' } },
      save: { description: 'Saves.' },
    },
    performers: {
      load: () => {
        calls.push('load')
        return [1, 2]
      },
      score: async ({ work }) => {
        calls.push('score')
        return (work.load as number[]).length
      },
      save: ({ work, retry }) => {
        calls.push('save')
        works.push(structuredClone(work))
        // What one attempt does to its copy, the next must not see.
        ;(work.load as number[]).push(3)
        return calls.length < 5 ? retry('disk full') : { saved: work.score }
      },
    },
  }
  const node = await startedRuntime([job])
  const id = await node.submit('staged')
  expect(await node.ended(id)).toBe('done')
  expect(calls).toEqual(['load', 'score', 'save', 'save', 'save'])
  expect(works).toEqual(Array(3).fill({ load: [1, 2], score: 2 }))
  expect((await node.runtime.get(id))?.result).toEqual({ saved: 2 })
})

it('a state that is left by an event it does not know fails, and says which it knows', async () => {
  const job: AnyJob = {
    type: 'staged',
    version: '1',
    states: {
      load: { description: 'Loads.', on: { PERFORMED: 'save', GONE: 'save' } },
      save: { description: 'Saves.' },
    },
    performers: { load: ({ event }) => event('LOST'), save: () => null },
  }
  const node = await startedRuntime([job])
  const id = await node.submit('staged')
  expect(await node.ended(id)).toBe('failed')
  expect((await node.runtime.get(id))?.error).toMatchObject({
    code: 'state.invalid',
    message: expect.stringContaining('PERFORMED, GONE'),
  })
})

it('progress and log lines are told, and progress is kept', async () => {
  const halt = gate()
  const { job } = countedJob(async ({ progress, log }) => {
    progress(3, 10, 'pages')
    log('reading', { page: 3 })
    await halt.promise
  })
  const node = await startedRuntime([job])
  const id = await node.submit('it')
  await node.started(id)
  await node.pass(1_000)
  expect(node.of('job.progressed', id)).toMatchObject([{ done: 3, total: 10 }])
  expect(node.of('job.logged', id)).toMatchObject([{ message: 'reading', fields: { page: 3 } }])
  expect((await node.runtime.get(id))?.progress).toEqual({ done: 3, total: 10, note: 'pages' })
  halt.open()
  expect(await node.ended(id)).toBe('done')
})

it('progress that is no number does no harm', async () => {
  const halt = gate()
  const { job } = countedJob(async ({ progress }) => {
    progress(7n as never, 9n as never, 5 as never)
    await halt.promise
  })
  const node = await startedRuntime([job])
  const id = await node.submit('it')
  await node.started(id)
  await node.pass(1_000)
  expect((await node.runtime.get(id))?.progress).toEqual({ done: 7, total: 9, note: '5' })
  halt.open()
  expect(await node.ended(id)).toBe('done')
})
