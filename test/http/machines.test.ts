import { describe, expect, it } from 'vitest'
import { builtInCharts, plainDrawings, testApp } from './test-app.ts'

const unavailable = {
  ...plainDrawings,
  of: () => Promise.reject(new Error('no paper')),
}

describe('machines', () => {
  it('are listed with what they are for, how large they are and where to read on', async () => {
    const { machines } = (await testApp().inject('/v1/machines')).json()
    expect(machines.map(({ id }: { id: string }) => id)).toEqual([
      'job',
      'limiter',
      'breaker',
      'process',
    ])
    expect(machines[3]).toEqual({
      id: 'process',
      version: '1',
      description: 'The life of one Decorum process, from the first line to the exit code.',
      stateCount: 5,
      transitionCount: 12,
      links: { self: '/v1/machines/process', drawing: '/v1/machines/process/drawing.svg' },
    })
  })

  it('every link leads somewhere', async () => {
    const app = testApp()
    const { machines } = (await app.inject('/v1/machines')).json()
    for (const { links } of machines) {
      for (const link of Object.values<string>(links)) {
        expect((await app.inject(link)).statusCode).toBe(200)
      }
    }
  })

  it('one machine is told in full, with how many of its actors are where', async () => {
    const chart = builtInCharts.find(({ id }) => id === 'process')
    expect((await testApp().inject('/v1/machines/process')).json()).toEqual({
      ...chart,
      population: { states: { serving: 1 }, transitions: 1 },
      links: { self: '/v1/machines/process', drawing: '/v1/machines/process/drawing.svg' },
    })
  })

  it('a machine that nobody runs here has no population', async () => {
    expect((await testApp().inject('/v1/machines/breaker')).json().population).toBeNull()
  })

  it.each(['/v1/machines/toaster', '/v1/machines/toaster/drawing.svg'])(
    'asked for one that does not exist, %s names those that do',
    async (url) => {
      const answer = await testApp().inject(url)
      expect([answer.statusCode, answer.json()]).toEqual([
        404,
        {
          title: 'Not Found',
          status: 404,
          code: 'machine.unknown',
          detail: 'There is no machine "toaster": ask for one of job, limiter, breaker, process.',
        },
      ])
    },
  )

  it('is not taken in by names that every object has', async () => {
    for (const id of ['__proto__', 'constructor', 'toString']) {
      expect((await testApp().inject(`/v1/machines/${id}`)).json().code).toBe('machine.unknown')
    }
  })
})

describe('a drawing', () => {
  const url = '/v1/machines/process/drawing.svg'

  it('comes as an image that may carry its own styles and nothing else', async () => {
    const answer = await testApp().inject(url)
    expect(answer.headers['content-type']).toBe('image/svg+xml; charset=utf-8')
    expect(answer.body).toContain('data-state="serving"')
    const policy = String(answer.headers['content-security-policy'])
    expect(policy).toMatch(/style-src 'self' 'sha256-[\w+/=]{44}'$/)
    expect(policy).not.toContain('unsafe')
  })

  it('is not sent again to somebody who has it', async () => {
    const app = testApp()
    const { etag } = (await app.inject(url)).headers
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await app.inject({ url, headers: { 'if-none-match': String(known) } })
      expect([again.statusCode, again.body, again.headers.etag]).toEqual([304, '', etag])
    }
    const other = await app.inject({ url, headers: { 'if-none-match': '"other"' } })
    expect(other.statusCode).toBe(200)
  })

  it('that cannot be made is a problem with a way on, and its cause stays in the log', async () => {
    const answer = await testApp({ drawings: unavailable }).inject(url)
    expect([answer.statusCode, answer.json().code]).toEqual([503, 'drawing.unavailable'])
    expect(answer.body).not.toContain('no paper')
  })
})
