/** Against a real server on this machine, through a whole runtime. */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { httpRequest } from '../../../src/jobs/http-request/http-request.ts'
import { startedRuntime, type TestRuntime } from '../../runtime/test-runtime.ts'

type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void

let server: Server
let origin = ''
let answer: Answer = (_, response) => response.end('fine')
let requests: string[] = []
let node: TestRuntime

beforeEach(async () => {
  requests = []
  server = createServer(async (request, response) => {
    requests.push(`${request.method} ${request.url}`)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    answer(request, response, Buffer.concat(chunks).toString())
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  node = await startedRuntime([httpRequest])
})

afterEach(() => {
  server.closeAllConnections()
  return new Promise<unknown>((closed) => server.close(closed))
})

/** Waits for the network without moving time; then moves time where a pause has to pass. */
async function ended(body: object, more: object = {}) {
  const id = await node.submit('http.request', body, more)
  const isBack = () => node.of('job.settled', id).length > 0
  await new Promise<void>((settled) => {
    if (isBack()) settled()
    else node.runtime.on('job.settled', (event) => event.id === id && settled())
  })
  return { id, view: (await node.runtime.get(id))! }
}

const digestOf = (data: string | Buffer) => createHash('sha256').update(data).digest('hex')

it('keeps status, headers, digest and body of what was answered', async () => {
  answer = ({ method, headers }, response, body) => {
    response.setHeader('x-seen', `${method} ${headers['x-mine']} ${headers['user-agent']} ${body}`)
    response.end('{"a":1}')
  }
  const { view } = await ended({
    url: `${origin}/path`,
    method: 'POST',
    headers: { 'x-mine': 'yes' },
    body: 'data',
  })
  expect(view).toMatchObject({
    state: 'done',
    domain: new URL(origin).host,
    result: {
      url: `${origin}/path`,
      status: 200,
      headers: { 'x-seen': expect.stringMatching(/^POST yes decorum\/\S+ data$/) },
      bytes: 7,
      digest: digestOf('{"a":1}'),
      body: '{"a":1}',
      encoding: 'utf8',
      isTruncated: false,
    },
  })
})

it.each<[string, Buffer, number | undefined, object]>([
  [
    'a text cut in the middle of a character',
    Buffer.from('aü'),
    2,
    { body: 'a', encoding: 'utf8' },
  ],
  [
    'a text that ends in half a character',
    Buffer.from([97, 0xc3]),
    undefined,
    { encoding: 'base64' },
  ],
  ['what is not UTF-8', Buffer.from([0xff, 0xfe]), undefined, { body: '//4=', encoding: 'base64' }],
  ['a text with a byte order mark', Buffer.from('\ufeffa'), undefined, { body: '\ufeffa' }],
  ['nothing', Buffer.alloc(0), undefined, { body: '', bytes: 0 }],
  // Six times as long as JSON.
  [
    'a lot of zeros',
    Buffer.alloc(64 * 1_024),
    undefined,
    { encoding: 'base64', isTruncated: false },
  ],
  ['more than is kept', Buffer.alloc(200_000, 'x'), 10, { body: 'xxxxxxxxxx', isTruncated: true }],
])('of %s it keeps what can be kept', async (_, data, keepBytesMax, expected) => {
  answer = (_request, response) => response.end(data)
  const { view } = await ended({ url: origin, ...(keepBytesMax && { keepBytesMax }) })
  expect(view.state).toBe('done')
  expect(view.result).toMatchObject({ ...expected, digest: digestOf(data) })
})

it('an answer that was listed as good is good', async () => {
  answer = (_, response) => response.writeHead(404).end('gone')
  const { view } = await ended({ url: origin, allowedStatuses: [404] })
  expect(view.result).toMatchObject({ status: 404, body: 'gone' })
})

it('a 404 fails at once', async () => {
  answer = (_, response) => response.writeHead(404).end()
  const { view } = await ended({ url: origin })
  expect(view).toMatchObject({ state: 'failed', error: { code: 'http.404' } })
  expect(requests).toHaveLength(1)
})

it('a 500 is tried again', async () => {
  answer = (_, response) => response.writeHead(500).end()
  const { view } = await ended({ url: origin }, { attemptsMax: 1 })
  expect(view).toMatchObject({ state: 'dead', error: { code: 'http.500' } })
})

it.each([429, 503])('a %i with Retry-After is waited out and costs no attempt', async (status) => {
  answer = (_, response) => response.writeHead(status, { 'retry-after': '60' }).end()
  const at = node.clock.now()
  const { view } = await ended({ url: origin }, { attemptsMax: 1 })
  expect(view).toMatchObject({ state: 'scheduled', reason: expect.stringContaining('pause') })
  expect(Date.parse(view.runAt) - at).toBeGreaterThanOrEqual(60_000)
  expect(view.envelope.header.attempt).toBe(0)
  expect(requests).toHaveLength(1)
})

it('a 429 that asks for no pause costs an attempt like any failure', async () => {
  answer = (_, response) => response.writeHead(429, { 'retry-after': '0' }).end()
  const { view } = await ended({ url: origin }, { attemptsMax: 1 })
  expect(view).toMatchObject({ state: 'dead', error: { code: 'http.429' } })
  expect(requests).toHaveLength(1)
})

it.each<[string, object]>([
  ['a GET with a body', { body: 'x' }],
  ['a header that cannot be', { headers: { 'a b': 'x' } }],
])('%s is refused for good, and nobody is asked', async (_, more) => {
  const { view } = await ended({ url: origin, ...more })
  expect(view).toMatchObject({ state: 'failed', error: { code: 'request.invalid' } })
  expect(requests).toEqual([])
})

it('a server that is not there is tried again, with the reason', async () => {
  const { view } = await ended({ url: 'http://127.0.0.1:9/' }, { attemptsMax: 1 })
  expect(view.state).toBe('dead')
  expect(view.error?.message).toMatch(/fetch failed|bad port/)
})

it('a cancelled request is broken off', async () => {
  const broken = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  answer = (_, response) => {
    response.on('close', broken.resolve)
    response.write('half')
    asked.resolve()
  }
  const id = await node.submit('http.request', { url: origin })
  await asked.promise
  await node.runtime.cancel(id)
  await broken.promise
  expect(await node.ended(id)).toBe('cancelled')
})

it.each<[string, object]>([
  ['no URL', {}],
  ['another scheme', { url: 'ftp://a.example/' }],
  ['no host', { url: 'http://' }],
  ['an unknown method', { url: 'http://a.example/', method: 'TRACE' }],
  ['an unknown field', { url: 'http://a.example/', ulr: 1 }],
])('%s is refused when it is handed in', async (_, body) => {
  await expect(node.submit('http.request', body)).rejects.toThrow()
})
