import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { fakePrograms } from './fake-programs.ts'
import { freePort } from './free-port.ts'
import { isListening, resp, takenPort } from './probe.ts'
import { startRedis } from './redis.ts'
import { useRedis } from './use-server.ts'

describe('a private Redis', () => {
  const redis = useRedis()

  it('answers PING on its own port', async () => {
    expect(await resp(redis.port, 'PING')).toBe('+PONG')
  })

  it('does not see the keys of another one beside it', async () => {
    const other = await startRedis()
    try {
      await resp(redis.port, 'SET mine 1')
      expect(await resp(redis.port, 'EXISTS mine')).toBe(':1')
      expect(await resp(other.port, 'EXISTS mine')).toBe(':0')
    } finally {
      await other.stop()
    }
  })

  it('forgets everything when it is killed, and answers again on the same port', async () => {
    await resp(redis.port, 'SET mine 1')
    await redis.kill()
    expect(await isListening(redis.port)).toBe(false)
    await redis.restart()
    expect(await resp(redis.port, 'EXISTS mine')).toBe(':0')
  })

  it('takes another port when the first was lost to somebody quicker', async () => {
    const choices = [await takenPort(), await freePort()]
    const lucky = choices[1]
    const server = await startRedis({ choosePort: async () => choices.shift() ?? 0 })
    await server.stop()
    expect(server.port).toBe(lucky)
  })

  it('leaves neither server nor data after stop', async () => {
    const server = await startRedis()
    await server.stop()
    expect(await isListening(server.port)).toBe(false)
    expect(existsSync(server.directory)).toBe(false)
  })
})

it('a Redis that does not start shows its last words', async () => {
  const binary = `${fakePrograms({ redis: 'echo "Bad directive"; exit 1' })}/redis`
  await expect(startRedis({ binary })).rejects.toThrow(/exit code 1\nBad directive/)
})
