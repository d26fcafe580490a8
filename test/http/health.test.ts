import { describe, expect, it } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { testApp } from './test-app.ts'

describe('health', () => {
  it.each(['starting', 'serving', 'draining', 'stopping'])(
    'a process %s is alive',
    async (state) => {
      const answer = await testApp({ state: () => state }).inject('/healthz')
      expect([answer.statusCode, answer.json()]).toEqual([200, { status: 'ok', state }])
    },
  )

  it('a serving process may be sent work', async () => {
    const answer = await testApp().inject('/readyz')
    expect([answer.statusCode, answer.json()]).toEqual([200, { status: 'ready' }])
  })

  it.each(['starting', 'draining', 'stopping'])(
    'a process %s must not be sent work, and says why',
    async (state) => {
      const answer = await testApp({ state: () => state }).inject('/readyz')
      expect(answer.statusCode).toBe(503)
      expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8')
      expect(answer.json()).toEqual({
        title: 'Service Unavailable',
        status: 503,
        code: 'process.notReady',
        detail: `The process is ${state}: ask again shortly, or ask another one.`,
      })
    },
  )

  it('a process whose store is away must not be sent work, and says why', async () => {
    const storeTrouble = () => 'The claimer has failed. The disk is full.'
    const answer = await testApp({ storeTrouble }).inject('/readyz')
    expect(answer.statusCode).toBe(503)
    expect(answer.json()).toMatchObject({ code: 'store.unavailable', detail: storeTrouble() })
  })

  it('the version is the one that was released', async () => {
    const answer = await testApp().inject('/v1/version')
    const { name, version } = manifest
    expect(answer.json()).toEqual({ name, version, node: process.versions.node })
  })
})
