import { describe, expect, it, onTestFinished } from 'vitest'
import { type Service, startService } from '../../src/http/service.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { plainDrawings, silent } from './test-app.ts'

describe('a service', () => {
  it('listens, is ready, shows itself as a live actor, and stops when asked', async () => {
    const service = start(0)
    const url = await service.serving
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    const process = await (await fetch(`${url}/v1/machines/process`)).json()
    expect(process).toMatchObject({ population: { states: { serving: 1 } } })
    service.requestStop('enough')
    expect(await service.ended).toEqual({ exitCode: 0, reason: 'enough' })
    await expect(fetch(`${url}/healthz`)).rejects.toThrow()
  })

  it('is reached by the name it was given', async () => {
    const service = start(0, 'localhost')
    onTestFinished(() => stopped(service))
    const url = await service.serving
    expect(url).toMatch(/^http:\/\/localhost:\d+$/)
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
  })

  it('on a port that is taken ends with advice', async () => {
    const first = start(0)
    onTestFinished(() => stopped(first))
    const { port } = new URL(await first.serving)
    expect(await start(Number(port)).ended).toEqual({
      exitCode: 1,
      reason: `Port ${port} on 127.0.0.1 is taken: end what uses it, or set DECORUM_PORT to another port (0 takes any free one).`,
    })
  })

  it('asked to stop before it listens never serves', async () => {
    const service = start(0)
    service.requestStop('changed my mind')
    expect(await service.ended).toEqual({ exitCode: 0, reason: 'changed my mind' })
  })

  it('answers whoever waits for a drawing when it stops', async () => {
    const asked = Promise.withResolvers<void>()
    const drawing = Promise.withResolvers<string>()
    const service = start(0, '127.0.0.1', {
      ...plainDrawings,
      of() {
        asked.resolve()
        return drawing.promise
      },
      close: async () => drawing.reject(new Error('The process stops.')),
    })
    const url = await service.serving
    const answer = fetch(`${url}/v1/machines/job/drawing.svg`)
    await asked.promise
    service.requestStop('SIGTERM')
    expect((await answer).status).toBe(503)
    expect((await service.ended).exitCode).toBe(0)
  })
})

function start(port: number, host = '127.0.0.1', drawings = plainDrawings): Service {
  return startService({
    configuration: { host, port, logLevel: 'silent' },
    clock: systemClock,
    chance: () => 0,
    log: silent,
    drawings,
  })
}

async function stopped(service: Service): Promise<void> {
  service.requestStop('the test is over')
  await service.ended
}
