import { describe, expect, it } from 'vitest'
import { VirtualClock } from '../../src/actors/virtual-clock.ts'
import type { AnyJob } from '../../src/jobs/define-job.ts'
import { type Submission, SubmissionRefused, submissionLimits } from '../../src/jobs/submission.ts'
import { DepthGauge } from '../../src/runtime/depth-gauge.ts'
import { Dispatcher } from '../../src/runtime/dispatcher.ts'
import { jobIdMaker } from '../../src/runtime/job-id.ts'
import { JobTypes } from '../../src/runtime/job-types.ts'
import { systemBytes } from '../../src/runtime/random.ts'
import { type NewJob, StoreUnavailable } from '../../src/runtime/store/job-store.ts'
import { tracingOf } from '../../src/runtime/tracing.ts'

const jobs: AnyJob[] = [
  {
    type: 'it',
    version: '2',
    attemptsMax: 7,
    domain: ({ url }: { url?: string } = {}) => url && new URL(url).host,
    run: () => null,
  },
]

function dispatcherOf(add?: (batch: readonly NewJob[]) => Promise<void>) {
  const clock = new VirtualClock(1_000_000)
  const batches: (readonly NewJob[])[] = []
  const dispatcher = new Dispatcher({
    clock,
    types: new JobTypes(jobs),
    makeId: jobIdMaker(clock, systemBytes),
    depth: new DepthGauge({
      clock,
      depthMax: 1_000,
      desk: { counts: async () => ({ live: { queued: 0, scheduled: 0 } }) as never },
    }),
    intake: {
      add: async (batch) => {
        await add?.(batch)
        batches.push(batch)
        return batch.map(({ id }) => ({ id, isNew: true }))
      },
    },
    onAccepted: () => {},
  })
  const turn = async () => {
    await new Promise((done) => setImmediate(done))
    clock.settle()
    await new Promise((done) => setImmediate(done))
  }
  return { dispatcher, batches, turn }
}

const { dispatcher: reader } = dispatcherOf()
const read = (submission: Partial<Submission>) => reader.read({ type: 'it', ...submission })

describe('a submission', () => {
  it('becomes a complete job', () => {
    const job = read({ body: { url: 'http://Example.org:80/a' } }) as NewJob
    expect(job).toMatchObject({
      type: 'it',
      version: '2',
      body: '{"url":"http://Example.org:80/a"}',
      key: null,
      domain: 'example.org',
      priority: 0,
      runAt: null,
      attemptsMax: 7,
      taskId: null,
    })
    expect(tracingOf(job)).toEqual({
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
      spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
    })
  })

  it('keeps what its maker says', () => {
    const tracing = { traceId: 't', spanId: 's' }
    const given = { key: 'k', priority: -5, attemptsMax: 1, taskId: 'task', domain: 'B.example' }
    expect(read({ ...given, tracing, runAt: new Date(5_000) })).toMatchObject({
      ...given,
      ...tracing,
      domain: 'b.example',
      runAt: 5_000,
    })
  })

  it('has its time in whole milliseconds', () => {
    expect(read({ runAt: 5_000.7 })).toMatchObject({ runAt: 5_000 })
  })

  it.each<[string, Partial<Submission>, RegExp]>([
    ['an unknown type', { type: 'that' }, /no job type "that".*use one of it/],
    ['no type', { type: undefined as never }, /needs a type/],
    ['an empty key', { key: '' }, /key/],
    ['a key that is a number', { key: 5 as never }, /key/],
    ['a key that is too long', { key: 'k'.repeat(submissionLimits.keyCharsMax + 1) }, /key/],
    ['a key with a NUL in it', { key: 'a\0b' }, /key/],
    ['a key with half a character in it', { key: 'a\ud800' }, /key/],
    ['a task that is no text', { taskId: 5 as never }, /taskId/],
    ['half a priority', { priority: 0.5 }, /priority/],
    ['a priority beyond all bounds', { priority: 2e6 }, /priority/],
    ['no attempt', { attemptsMax: 0 }, /attemptsMax/],
    ['too many attempts', { attemptsMax: 101 }, /attemptsMax/],
    ['a time that is none', { runAt: new Date(Number.NaN) }, /runAt/],
    ['a time before all', { runAt: -1 }, /runAt/],
    ['a trace of another kind', { tracing: { traceId: 5, spanId: '' } as never }, /tracing/],
    ['half a trace', { tracing: { traceId: 'a' } as never }, /tracing/],
    ['a body that is not JSON', { body: { n: 1n } }, /must be JSON/],
    ['a body that is a function', { body: () => null }, /must be JSON/],
    ['a body that is too large', { body: 'x'.repeat(70_000) }, /send a reference/],
    ['a body too large in bytes', { body: 'ü'.repeat(33_000) }, /66002 bytes/],
    ['a domain that is none', { domain: 'a/b' }, /not the name of a server/],
    ['a domain that is a number', { domain: 5 as never }, /not the name of a server/],
    ['a body that names no server', { body: { url: 'nonsense' } }, /names no server/],
  ])('with %s is refused in words', (_, submission, words) => {
    const job = read(submission)
    expect('refusal' in job && job.refusal).toMatch(words)
  })

  it('that is nothing at all is refused', async () => {
    const { dispatcher } = dispatcherOf()
    await expect(dispatcher.submit(undefined as never)).rejects.toThrow(SubmissionRefused)
  })
})

it('what is handed in in the same moment is written together, and each gets its own answer', async () => {
  const { dispatcher, batches, turn } = dispatcherOf()
  const answers = [1, 2, 3].map((count) =>
    dispatcher.submitMany(Array.from({ length: count }, () => ({ type: 'it' }))),
  )
  await turn()
  expect(batches).toHaveLength(1)
  const ids = batches[0]!.map(({ id }) => id)
  expect(ids).toEqual([...ids].sort())
  const receipts = await Promise.all(answers)
  expect(receipts.map((each) => each.length)).toEqual([1, 2, 3])
  expect(receipts.flat().map(({ id }) => id)).toEqual(ids)
})

it('nothing at all is accepted without asking the store', async () => {
  const { dispatcher, batches } = dispatcherOf()
  expect(await dispatcher.submitMany([])).toEqual([])
  expect(batches).toEqual([])
})

it('who hands in while the store is away is told so', async () => {
  const { dispatcher, turn } = dispatcherOf(() =>
    Promise.reject(new StoreUnavailable('database.away', 'It is away.')),
  )
  const refused = expect(dispatcher.submit({ type: 'it' })).rejects.toThrow(StoreUnavailable)
  await turn()
  await refused
  await dispatcher.idle()
})

describe('a row of the outbox', () => {
  const row = {
    id: 1,
    type: 'it',
    body: '{"a":1}',
    key: null,
    domain: null,
    priority: null,
    runAt: null,
    attemptsMax: null,
    taskId: null,
  }

  it('becomes a job like any other', () => {
    expect(reader.readOutboxRow(row)).toMatchObject({ body: '{"a":1}', attemptsMax: 7, key: null })
  })

  it('that nobody can read says what to do', () => {
    expect(reader.readOutboxRow({ ...row, body: '{' })).toEqual({
      refusal: expect.stringContaining('not JSON'),
    })
    expect(reader.readOutboxRow({ ...row, attemptsMax: 0 })).toHaveProperty('refusal')
  })
})
