import { expect, it } from 'vitest'
import type { AnyJob, JobContext } from '../../src/jobs/define-job.ts'
import { SubmissionRefused } from '../../src/jobs/submission.ts'
import { gate, startedRuntime, testRuntime } from './test-runtime.ts'

/** A handler job with its calls counted. */
function counted(run: (context: JobContext<never>, calls: number) => unknown, more: object = {}) {
  const calls: JobContext[] = []
  const job: AnyJob = {
    type: 'it',
    version: '1',
    backoff: { kind: 'schedule', delaysMs: [500] },
    ...more,
    run(context: JobContext<never>) {
      calls.push(context)
      return run(context, calls.length)
    },
  }
  return { job, calls }
}

it('a submitted job runs once, and its result is kept', async () => {
  const { job, calls } = counted(({ body }) => ({ doubled: (body as number) * 2 }))
  const node = await startedRuntime([job])
  const id = await node.submit('it', 21)
  expect(await node.ended(id)).toBe('done')
  await node.pass(5_000)
  expect(calls).toHaveLength(1)
  const view = await node.runtime.get(id)
  expect(view).toMatchObject({ state: 'done', result: { doubled: 42 }, statechart: null })
  expect(view?.envelope).toMatchObject({
    header: { job_id: id, type: 'it', version: '1', attempt: 1, max_attempts: 5 },
    body: 21,
  })
  expect(node.listenerErrors).toEqual([])
})

it('a job knows who it is', async () => {
  const { job, calls } = counted(() => null)
  const node = await startedRuntime([job])
  const id = await node.submit('it', null, { key: 'k', domain: 'Example.org', attemptsMax: 2 })
  await node.ended(id)
  const [{ job: facts } = { job: undefined }] = calls
  expect(facts).toMatchObject({
    id,
    type: 'it',
    key: 'k',
    domain: 'example.org',
    attempt: 1,
    attemptsMax: 2,
  })
  expect(facts?.createdAt).toBeInstanceOf(Date)
})

it('a job that has nothing to do is skipped, with the reason', async () => {
  const { job } = counted(({ skip }) => skip('it was done before'))
  const node = await startedRuntime([job])
  const id = await node.submit('it')
  expect(await node.ended(id)).toBe('skipped')
  expect(await node.runtime.get(id)).toMatchObject({
    state: 'skipped',
    reason: 'it was done before',
  })
})

it('a job that fails is tried again, and each try costs an attempt', async () => {
  const { job, calls } = counted(({ retry }, call) => (call < 3 ? retry('not yet') : 'yes'))
  const node = await startedRuntime([job])
  const id = await node.submit('it')
  expect(await node.ended(id)).toBe('done')
  expect(calls.map(({ job: { attempt } }) => attempt)).toEqual([1, 2, 3])
  expect((await node.runtime.get(id))?.envelope.header.attempt).toBe(3)
})

it('a long pause is waited out in the queue, and the attempt stays counted', async () => {
  const { job, calls } = counted(({ retry }, call) =>
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
  const { job, calls } = counted(({ wait, now }, call) =>
    call < 3 ? wait(now() + (call === 1 ? 1_000 : 30_000), 'busy') : 'yes',
  )
  const node = await startedRuntime([job])
  const id = await node.submit('it', null, { attemptsMax: 1 })
  expect(await node.ended(id)).toBe('done')
  expect(calls.map(({ job: { attempt } }) => attempt)).toEqual([1, 1, 1])
})

it('a rejected job fails at once', async () => {
  const { job, calls } = counted(({ reject }) => reject({ code: 'no.such', message: 'Gone.' }))
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
  const { job, calls } = counted(() => {
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
  const { job, calls } = counted(() => make())
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
  const { job, calls } = counted((_context, call) => {
    if (call === 1) return Promise.reject(make())
    return 'yes'
  })
  const node = await startedRuntime([job])
  const id = await node.submit('it')
  expect(await node.ended(id)).toBe('done')
  expect(calls).toHaveLength(2)
})

it('a result that has a field named then is a result', async () => {
  const { job } = counted(() => ({ then: 'later' }))
  const node = await startedRuntime([job])
  const id = await node.submit('it')
  expect(await node.ended(id)).toBe('done')
  expect((await node.runtime.get(id))?.result).toEqual({ then: 'later' })
})

it.each([
  ['wait for ever', (context: JobContext) => context.wait(Number.POSITIVE_INFINITY, 'x')],
  ['wait until no time', (context: JobContext) => context.wait(Number.NaN, 'x')],
  ['retry after no time', (context: JobContext) => context.retry('x', { afterMs: Number.NaN })],
])('a job that wants to %s is told so, and harms no other', async (_, wish) => {
  const { job } = counted((context) => wish(context), { attemptsMax: 1 })
  const other: AnyJob = { type: 'other', version: '1', run: () => 'fine' }
  const node = await startedRuntime([job, other])
  const [bad, good] = await Promise.all([node.submit('it'), node.submit('other')])
  expect(await node.ended(good)).toBe('done')
  expect(await node.ended(bad)).toBe('dead')
  expect((await node.runtime.get(bad))?.error?.message).toMatch(/finite number/)
})

it('what a job last handed to checkpoint is given back to its next attempt', async () => {
  const seen: unknown[] = []
  const { job } = counted(async ({ checkpoint, checkpointed, retry }, call) => {
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
  const { job } = counted(({ checkpoint }) => checkpoint(() => {}), { attemptsMax: 1 })
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
  const { job } = counted(async ({ progress, log }) => {
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
  const { job } = counted(async ({ progress }) => {
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

it('the same key again gives back the first job, which runs once', async () => {
  const { job, calls } = counted(() => null)
  const node = await startedRuntime([job])
  const first = await node.runtime.submit({ type: 'it', key: 'one' })
  await node.ended(first.id)
  const second = await node.runtime.submit({ type: 'it', key: 'one' })
  expect(second).toEqual({ id: first.id, isNew: false })
  await node.pass(3_000)
  expect(calls).toHaveLength(1)
  expect(node.of('jobs.submitted')).toMatchObject([
    { jobs: 1, duplicates: 0 },
    { jobs: 0, duplicates: 1 },
  ])
})

it('submissions are all accepted or none, and each that is wrong is named', async () => {
  const { job } = counted(() => null, { schema: { type: 'object' } })
  const node = await testRuntime([job])
  const batch = [{ type: 'it', body: {} }, { type: 'it', body: 5 }, { type: 'nothing' }]
  const refused = await node.runtime.submitMany(batch).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(SubmissionRefused)
  expect((refused as SubmissionRefused).problems.map(({ index }) => index)).toEqual([1, 2])
  expect((await node.runtime.stats()).live.queued).toBe(0)
})

it('no more than the limit run at a time, and all of them run', async () => {
  let [running, most] = [0, 0]
  const gates = Array.from({ length: 40 }, () => gate())
  const { job, calls } = counted(async ({ body }) => {
    most = Math.max(most, ++running)
    await gates[body as number]!.promise
    running--
  })
  const node = await startedRuntime([job], { limits: { concurrency: 4, prefetch: 3 } })
  const receipts = await node.runtime.submitMany(gates.map((_, body) => ({ type: 'it', body })))
  for (const { open } of gates) {
    await node.rest()
    expect(running).toBeLessThanOrEqual(4)
    expect((await node.runtime.stats()).live.running).toBeLessThanOrEqual(7)
    open()
  }
  for (const { id } of receipts) await node.ended(id)
  expect(most).toBe(4)
  expect(calls).toHaveLength(40)
})

it('jobs of a domain that has its full number here are left to others; other domains go on', async () => {
  const halt = gate()
  const started: string[] = []
  const { job } = counted(async ({ job: { domain } }) => {
    started.push(domain)
    await halt.promise
  })
  const node = await startedRuntime([job], { limits: { concurrency: 8, domainJobsMax: 2 } })
  const submit = (domain: string) => node.runtime.submit({ type: 'it', domain })
  await Promise.all([submit('a.example'), submit('a.example')])
  await node.until(() => started.length === 2, 'two ran')
  await Promise.all([submit('a.example'), submit('b.example'), submit('a.example')])
  await node.pass(3_000)
  expect(started).toEqual(['a.example', 'a.example', 'b.example'])
  halt.open()
  await node.forwardUntil(() => started.length === 5, 'the others ran')
})

it('nothing is begun while everything is paused, and everything when it is resumed', async () => {
  const { job, calls } = counted(() => null)
  const node = await startedRuntime([job])
  await node.runtime.pause()
  const id = await node.submit('it')
  await node.pass(5_000)
  expect(calls).toHaveLength(0)
  expect(await node.runtime.pauses()).toEqual([{ kind: 'all' }])
  await node.runtime.resume()
  expect(await node.ended(id)).toBe('done')
})

it('a dead job that is replayed runs again with all its attempts', async () => {
  const { job, calls } = counted(
    (_, call) => {
      if (call === 1) throw new Error('broken')
      return 'mended'
    },
    { attemptsMax: 1 },
  )
  const node = await startedRuntime([job])
  const id = await node.submit('it', { a: 1 })
  expect(await node.ended(id)).toBe('dead')
  expect(await node.runtime.replay({ ids: [id] }, { body: { a: 2 } })).toEqual([id])
  await node.forwardUntil(() => node.of('job.settled', id).length === 2, 'it ran again')
  expect(await node.runtime.get(id)).toMatchObject({ state: 'done', result: 'mended' })
  expect(calls[1]?.body).toEqual({ a: 2 })
})

it('a job with a time of its own runs then, not before', async () => {
  const { job, calls } = counted(({ now }) => now())
  const node = await startedRuntime([job])
  const runAt = node.clock.now() + 60_000
  const id = await node.submit('it', null, { runAt: new Date(runAt) })
  await node.pass(59_000)
  expect(calls).toHaveLength(0)
  expect(await node.ended(id)).toBe('done')
  expect((await node.runtime.get(id))?.result).toBeGreaterThanOrEqual(runAt)
  expect(node.clock.now() - runAt).toBeLessThan(1_000)
})
