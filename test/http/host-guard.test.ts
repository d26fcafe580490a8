import { describe, expect, it } from 'vitest'
import { assertOwnHost } from '../../src/http/host-guard.ts'
import { testApp } from './test-app.ts'

describe('a service on this machine', () => {
  it.each(['localhost', 'LocalHost:7070', '127.0.0.1:7070', '127.0.0.2', '[::1]:7070', '[::1]'])(
    'goes by the name %s',
    async (host) => {
      expect((await ask({ host })).statusCode).toBe(200)
    },
  )

  it.each([
    'evil.example',
    'evil.example:7070',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '10.0.0.1',
    '[::2]',
    'evil.example:80:localhost',
  ])('does not answer to "%s", whatever that name resolves to', async (host) => {
    const answer = await ask({ host })
    expect([answer.statusCode, answer.json().code]).toEqual([421, 'host.refused'])
  })

  it('does not answer to a request without a name', () => {
    expect(() => assertOwnHost({}, '127.0.0.1')).toThrow('does not go by the name ""')
  })

  it('refuses a stranger before it looks for the route', async () => {
    const answer = await testApp().inject({ url: '/nothing', headers: { host: 'evil.example' } })
    expect(answer.json().code).toBe('host.refused')
  })

  it('says which name to use instead', async () => {
    const answer = await testApp({ host: '::1' }).inject({
      url: '/healthz',
      headers: { host: 'evil.example' },
    })
    expect(answer.json().detail).toBe(
      'This service does not go by the name "evil.example": use http://[::1] and its port.',
    )
  })

  it('answers its own page, and no page from elsewhere', async () => {
    const host = 'localhost:7070'
    expect((await ask({ host, origin: 'http://localhost:7070' })).statusCode).toBe(200)
    for (const origin of ['https://evil.example', 'http://localhost:3000', 'null', '']) {
      const answer = await ask({ host, origin })
      expect([answer.statusCode, answer.json().code]).toEqual([403, 'origin.refused'])
    }
  })
})

function ask(headers: Record<string, string>) {
  return testApp().inject({ url: '/healthz', headers })
}
