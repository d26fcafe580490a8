import { expect, it } from 'vitest'
import { VirtualClock } from '../../src/actors/virtual-clock.ts'
import { closeApp, listen } from '../../src/http/listening.ts'
import { testApp } from './test-app.ts'

it('a caller whose answer does not come cannot hold up the end of the process', async () => {
  const clock = new VirtualClock()
  const app = testApp()
  const asked = Promise.withResolvers<void>()
  app.get('/endless', () => {
    asked.resolve()
    return new Promise(() => {})
  })
  const url = await listen(app, { host: '127.0.0.1', port: 0 })
  const answer = fetch(`${url}/endless`)
  await asked.promise
  const closed = closeApp(app, clock)
  const closing = expect(answer).rejects.toThrow()
  clock.advance(1_000)
  await closing
  await closed
})

it('a caller whose answer is under way gets it before the process ends', async () => {
  const app = testApp()
  const asked = Promise.withResolvers<void>()
  const words = Promise.withResolvers<string>()
  app.get('/late', () => {
    asked.resolve()
    return words.promise
  })
  const url = await listen(app, { host: '127.0.0.1', port: 0 })
  const answer = fetch(`${url}/late`)
  await asked.promise
  const closed = closeApp(app, new VirtualClock())
  words.resolve('here it is')
  expect(await (await answer).text()).toBe('here it is')
  await closed
})
