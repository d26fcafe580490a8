import { expect, it } from 'vitest'
import { SubmissionRefused } from '../../src/jobs/submission.ts'
import { countedJob, gate, startedRuntime, testRuntime } from './test-runtime.ts'

it('a submitted job runs once, and its result is kept', async () => {
  const { job, calls } = countedJob(({ body }) => ({ doubled: (body as number) * 2 }))
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
  const { job, calls } = countedJob(() => null)
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

it('the same key again gives back the first job, which runs once', async () => {
  const { job, calls } = countedJob(() => null)
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
  const { job } = countedJob(() => null, { schema: { type: 'object' } })
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
  const { job, calls } = countedJob(async ({ body }) => {
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
  const { job } = countedJob(async ({ job: { domain } }) => {
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
  const { job, calls } = countedJob(() => null)
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
  const { job, calls } = countedJob(
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
  const { job, calls } = countedJob(({ now }) => now())
  const node = await startedRuntime([job])
  const runAt = node.clock.now() + 60_000
  const id = await node.submit('it', null, { runAt: new Date(runAt) })
  await node.pass(59_000)
  expect(calls).toHaveLength(0)
  expect(await node.ended(id)).toBe('done')
  expect((await node.runtime.get(id))?.result).toBeGreaterThanOrEqual(runAt)
  expect(node.clock.now() - runAt).toBeLessThan(1_000)
})
