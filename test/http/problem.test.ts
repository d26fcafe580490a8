import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import pino from 'pino'
import { describe, expect, it, onTestFinished } from 'vitest'
import { httpLimits } from '../../src/http/app.ts'
import { statuses } from '../../src/http/problem.ts'
import { securityHeaders } from '../../src/http/security-headers.ts'
import { QueueFull } from '../../src/jobs/submission.ts'
import { plainDrawings, testApp } from './test-app.ts'

describe('a request that goes wrong', () => {
  it('for a route that does not exist says what was asked for and where to look', async () => {
    const answer = await testApp().inject({ method: 'DELETE', url: '/v1/nothing?x=1' })
    expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8')
    expect([answer.statusCode, answer.json()]).toEqual([
      404,
      {
        title: 'Not Found',
        status: 404,
        code: 'route.unknown',
        detail: 'There is no DELETE /v1/nothing?x=1: the page at / lists what is.',
      },
    ])
  })

  it('with an address that cannot be decoded is refused as a problem', async () => {
    const answer = await testApp().inject('/v1/machines/%zz')
    expect([answer.statusCode, answer.json().code]).toEqual([400, 'request.invalid'])
    expect(answer.headers).toMatchObject(securityHeaders)
  })

  it('with a body over the limit is refused as a problem', async () => {
    const app = testApp()
    app.post('/echo', async ({ body }) => body)
    const answer = await app.inject({
      method: 'POST',
      url: '/echo',
      payload: { text: 'x'.repeat(httpLimits.bodyBytesMax) },
    })
    expect([answer.statusCode, answer.json().code]).toEqual([413, 'body.tooLarge'])
  })

  it.each([
    ['application/json', '{"a":', 400, 'request.invalid'],
    ['application/x-unheard-of', 'a', 415, 'body.unsupported'],
  ])('with a body of %s like %s is refused as a problem', async (type, payload, status, code) => {
    const app = testApp()
    app.post('/echo', async ({ body }) => body)
    const headers = { 'content-type': type }
    const answer = await app.inject({ method: 'POST', url: '/echo', headers, payload })
    expect([answer.statusCode, answer.json().code]).toEqual([status, code])
  })

  it('with broken JSON is told where it breaks', async () => {
    const answer = await testApp().inject({
      method: 'POST',
      url: '/v1/jobs',
      headers: { 'content-type': 'application/json' },
      payload: '{\n  "type": "x",\n}',
    })
    expect([answer.statusCode, answer.json().code]).toEqual([400, 'request.invalid'])
    expect(answer.json().detail).toMatch(
      /^The body is not JSON: .*at position 17 \(line 3 column 1\)\.$/,
    )
  })

  it('because the queue is full is told when to come back', async () => {
    const submit = async () => {
      throw new QueueFull(10, 10, 4_100)
    }
    const answer = await testApp({ jobs: { submit } }).inject(submission)
    expect([answer.statusCode, answer.json().code]).toEqual([429, 'queue.full'])
    expect(answer.headers['retry-after']).toBe('5')
  })

  it('because the store is away is told when to come back', async () => {
    const answer = await testApp().inject(submission)
    expect([answer.statusCode, answer.json()]).toEqual([
      503,
      {
        title: 'Service Unavailable',
        status: 503,
        code: 'store.unavailable',
        detail: 'The database is away: try again.',
      },
    ])
    expect(answer.headers['retry-after']).toBe('5')
  })

  it('through our own fault tells the log what happened, and the caller nothing of it', async () => {
    const lines: string[] = []
    const app = testApp({ log: pino({ level: 'error' }, { write: (line) => lines.push(line) }) })
    app.get('/broken', async () => {
      throw new Error('the secret of the house')
    })
    const answer = await app.inject('/broken')
    expect([answer.statusCode, answer.json().code]).toEqual([500, 'internal'])
    expect(answer.body).not.toContain('secret')
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      msg: 'internal',
      err: { message: 'the secret of the house' },
    })
  })

  it.each([
    ['GET\r\n\r\n', 400, 'request.invalid'],
    [
      `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(httpLimits.headerBytesMax)}\r\n\r\n`,
      431,
      'headers.tooLarge',
    ],
  ])('that is not even HTTP is answered and cut off', async (bytes, status, code) => {
    const answer = await onTheWire(bytes)
    const [head = '', body = ''] = answer.split('\r\n\r\n')
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(head).toContain('Connection: close')
    expect(JSON.parse(body)).toMatchObject({ status, code })
  })
})

describe('the list of problems', () => {
  it('in docs/errors.md has every code with its status, and no other', () => {
    const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')
    const rows = [...page.matchAll(/^\| `([\w.]+)` \| (\d{3}) \| .+ \| .+ \|$/gm)]
    expect(rows.map(([, code, status]) => [code, Number(status)])).toEqual(Object.entries(statuses))
  })
})

describe('every answer', () => {
  it.each(['/healthz', '/v1/machines', '/v1/nothing'])(
    '%s carries the safety headers',
    async (url) => {
      const answer = await testApp({ drawings: plainDrawings }).inject(url)
      expect(answer.headers).toMatchObject(securityHeaders)
    },
  )
})

const submission = {
  method: 'POST',
  url: '/v1/jobs',
  payload: { type: 'http.request', body: { url: 'http://example.org/' } },
} as const

async function onTheWire(bytes: string): Promise<string> {
  const app = testApp()
  onTestFinished(() => app.close())
  await app.listen({ host: '127.0.0.1', port: 0 })
  const [address] = app.addresses()
  if (typeof address !== 'object') throw new Error('no port')
  const socket = connect(address.port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(bytes)
  return text(socket)
}
