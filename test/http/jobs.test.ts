import { describe, expect, it } from 'vitest'
import type { AnyJob } from '../../src/jobs/define-job.ts'
import { Caller, nextEvent, type TestServiceParts, testService } from './test-service.ts'

const echo: AnyJob = {
  type: 'echo',
  version: '1.0',
  schema: {
    type: 'object',
    required: ['words'],
    additionalProperties: false,
    properties: { words: { type: 'string' } },
  },
  run: ({ body }) => body.words,
}

/** Runs until it is told to stop. */
const endless: AnyJob = {
  type: 'endless',
  version: '1.0',
  run: ({ signal }) =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
    }),
}

describe('a job handed in', () => {
  it('is accepted with its address, and what came of it is found there', async () => {
    const caller = await calling()
    const answer = await caller.post('/v1/jobs', { type: 'echo', body: { words: 'hello' } })
    const { id } = answer.body
    expect([answer.status, answer.headers.get('location'), answer.body]).toEqual([
      202,
      `/v1/jobs/${id}`,
      { id, isNew: true },
    ])
    expect(await caller.ended(id)).toMatchObject({
      id,
      state: 'done',
      result: 'hello',
      error: null,
      envelope: {
        header: { job_id: id, type: 'echo', attempt: 1, max_attempts: 5 },
        body: { words: 'hello' },
      },
    })
  })

  it('can be a call of a URL without a line of code', async () => {
    const service = testService()
    const url = await service.serving
    const caller = new Caller(url)
    const id = await caller.submit({ type: 'http.request', body: { url: `${url}/healthz` } })
    expect((await caller.ended(id)).result).toMatchObject({
      status: 200,
      body: '{"status":"ok","state":"serving"}',
    })
  })

  it('again under the same key is the first job', async () => {
    const caller = await calling()
    const submission = { type: 'echo', body: { words: 'once' }, key: 'greeting-1' }
    const id = await caller.submit(submission)
    const { status, body } = await caller.post('/v1/jobs', submission)
    expect([status, body]).toEqual([202, { id, isNew: false }])
  })

  it.each([
    ['2040-01-31T08:00:00+01:00', '2040-01-31T07:00:00.000Z'],
    [Date.UTC(2040, 0, 31, 7), '2040-01-31T07:00:00.000Z'],
  ])('for %s waits until then', async (runAt, instant) => {
    const caller = await calling()
    const settings = { priority: -5, attemptsMax: 7, domain: 'Example.ORG' }
    const id = await caller.submit({ type: 'echo', body: { words: 'x' }, runAt, ...settings })
    expect((await caller.get(`/v1/jobs/${id}`)).body).toMatchObject({
      state: 'scheduled',
      runAt: instant,
      priority: -5,
      domain: 'example.org',
      envelope: { header: { attempt: 0, max_attempts: 7 } },
    })
  })

  it.each([
    ['of a type nobody knows', { type: 'toast' }, 'There is no job type "toast"'],
    ['without a type', {}, "The request must have required property 'type'."],
    ['as a list', [], 'The request must be object.'],
    ['as nothing', undefined, 'The request must be object.'],
    ['with a property nobody knows', { type: 'echo', prio: 1 }, '("prio")'],
    ['with a body that does not fit', { type: 'echo', body: {} }, 'The body does not fit "echo"'],
    ['for a time without a zone', { type: 'echo', runAt: '2040-01-31T08:00:00' }, 'with its zone'],
    ['for no time at all', { type: 'echo', runAt: 'tomorrow' }, 'runAt must be a time'],
    ['with a priority out of bounds', { type: 'echo', priority: 1.5 }, 'priority must be'],
    ['with an empty key', { type: 'echo', key: '' }, 'key must be'],
    ['for a server that is none', { ...hello(), domain: 'a b' }, 'is not the name of a server'],
  ])('%s is refused with what is wrong', async (_how, submission, problem) => {
    const caller = await calling()
    const { status, body } = await caller.post('/v1/jobs', submission)
    expect([status, body.code]).toEqual([400, 'job.refused'])
    expect(body.problems).toContainEqual(expect.stringContaining(problem))
    expect((await caller.get('/v1/stats')).body.jobs).toMatchObject({ queued: 0, done: 0 })
  })

  it('may have a body up to its limit however it is written, and not beyond', async () => {
    const caller = await calling()
    // Six bytes on the wire, one in the store.
    const escaped = '\\u0061'.repeat(40_000)
    const { status } = await caller.post(
      '/v1/jobs',
      `{"type":"echo","body":{"words":"${escaped}"}}`,
    )
    expect(status).toBe(202)
    const words = 'a'.repeat(65_536)
    const refused = await caller.post('/v1/jobs', { type: 'echo', body: { words } })
    expect([refused.status, refused.body.code]).toEqual([400, 'job.refused'])
    const huge = await caller.post('/v1/jobs', {
      type: 'echo',
      body: { words: 'a'.repeat(300_000) },
    })
    expect([huge.status, huge.body.code]).toEqual([413, 'body.tooLarge'])
  })
})

describe('a job that nobody has', () => {
  it.each(['/v1/jobs/nonsense', '/v1/jobs/01a1ef5f-46c0-75ab-8ecc-f40163267634'])(
    'at %s is unknown, to read, to follow and to cancel',
    async (path) => {
      const caller = await calling()
      const answers = await Promise.all([
        caller.get(path),
        caller.get(`${path}/events`),
        caller.post(`${path}/cancel`),
      ])
      for (const { status, body } of answers)
        expect([status, body.code]).toEqual([404, 'job.unknown'])
    },
  )
})

describe('a job cancelled', () => {
  it('while it waits has ended at once; a second time there is nothing to cancel', async () => {
    const caller = await calling()
    const id = await caller.submit({ ...hello(), runAt: '2040-01-01T00:00:00Z' })
    const { status, body } = await caller.post(`/v1/jobs/${id}/cancel`)
    expect([status, body]).toEqual([202, { verdict: 'cancelled' }])
    expect((await caller.get(`/v1/jobs/${id}`)).body.state).toBe('cancelled')
    const again = await caller.post(`/v1/jobs/${id}/cancel`)
    expect([again.status, again.body.code]).toEqual([409, 'job.final'])
  })

  it('while it runs is told to stop, and ends as cancelled', async () => {
    const caller = await calling()
    const events = await caller.events('/v1/events')
    const id = await caller.submit({ type: 'endless' })
    await nextEvent(events, 'job.started')
    const { status, body } = await caller.post(`/v1/jobs/${id}/cancel`)
    expect([status, body]).toEqual([202, { verdict: 'requested' }])
    expect((await caller.ended(id)).state).toBe('cancelled')
  })
})

describe('the figures', () => {
  it('count jobs by state, those that ended lately, nodes and pauses', async () => {
    const caller = await calling()
    await caller.ended(await caller.submit(hello()))
    await caller.submit({ ...hello(), runAt: '2040-01-01T00:00:00Z' })
    const { body } = await caller.get('/v1/stats')
    expect(body).toMatchObject({
      jobs: { done: 1, scheduled: 1, queued: 0, running: 0, dead: 0 },
      endedLastMinute: 1,
      outbox: 0,
      oldestQueuedAt: null,
      nodes: [{ id: body.node, role: 'all', isAlive: true, running: 0 }],
      pauses: [],
    })
  })
})

function hello() {
  return { type: 'echo', body: { words: 'hello' } }
}

async function calling(parts: TestServiceParts = {}): Promise<Caller> {
  return new Caller(await testService({ jobs: [echo, endless], ...parts }).serving)
}
