import { expect, it } from 'vitest'
import { VirtualClock } from '../../src/actors/virtual-clock.ts'
import { JobOutcome } from '../../src/jobs/outcome.ts'
import { simpleFetch } from '../../src/runtime/simple-fetch.ts'

const START_AT = Date.UTC(2026, 0, 1)

function fetchOf(answer: (request: Request) => Response) {
  const clock = new VirtualClock(START_AT)
  const requests: Request[] = []
  const polite = simpleFetch(clock, async (input) => {
    requests.push(input as Request)
    return answer(input as Request)
  })
  return { clock, requests, ...polite }
}

const busy = (status: number, retryAfter: string) => () =>
  new Response(null, { status, headers: { 'retry-after': retryAfter } })

it('says who is calling, unless the caller does', async () => {
  const { fetch, requests } = fetchOf(() => new Response('fine'))
  await fetch('http://a.example/')
  await fetch('http://a.example/', { headers: { 'User-Agent': 'me' } })
  expect(requests.map(({ headers }) => headers.get('user-agent'))).toEqual([
    expect.stringMatching(/^decorum\//),
    'me',
  ])
})

it.each([429, 503])(
  'after a %i with Retry-After the domain is left alone until then',
  async (status) => {
    const { fetch, restingDomains, clock, requests } = fetchOf(busy(status, '60'))
    expect((await fetch('http://a.example/x')).status).toBe(status)
    expect(restingDomains()).toEqual(['a.example'])
    const refused = await fetch('http://A.example:80/y').catch((thrown: unknown) => thrown)
    expect(refused).toBeInstanceOf(JobOutcome)
    expect((refused as JobOutcome).outcome).toMatchObject({
      kind: 'wait',
      until: START_AT + 60_000,
    })
    expect(requests).toHaveLength(1)
    await fetch('http://b.example/')
    clock.advance(60_000)
    expect(restingDomains()).toEqual([])
    await fetch('http://a.example/z')
    expect(requests).toHaveLength(3)
  },
)

it('no other answer asks for a rest', async () => {
  for (const answer of [busy(500, '60'), busy(200, '60'), busy(429, 'soon'), busy(429, '0')]) {
    const { fetch, restingDomains } = fetchOf(answer)
    await fetch('http://a.example/')
    expect(restingDomains()).toEqual([])
  }
})

it('who was redirected to a server that asks for a rest does not go there again', async () => {
  const { fetch, restingDomains } = fetchOf(() =>
    Object.defineProperty(busy(429, '60')(), 'url', { value: 'http://b.example/' }),
  )
  await fetch('http://a.example/')
  expect([...restingDomains()].sort()).toEqual(['a.example', 'b.example'])
})

it('a later, longer wish replaces an earlier one', async () => {
  let seconds = 10
  const { fetch, clock, restingDomains } = fetchOf(() => busy(429, String(seconds))())
  await Promise.all([fetch('http://a.example/'), fetch('http://a.example/')])
  clock.advance(10_000)
  seconds = 100
  await fetch('http://a.example/')
  clock.advance(50_000)
  expect(restingDomains()).toEqual(['a.example'])
})

it('a shorter wish does not shorten one that still stands', async () => {
  const answers = [busy(429, '100'), busy(429, '1')]
  const { fetch, clock, restingDomains } = fetchOf(() => answers.shift()!())
  await Promise.all([fetch('http://a.example/'), fetch('http://a.example/')])
  clock.advance(50_000)
  expect(restingDomains()).toEqual(['a.example'])
})
