import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { RedisConnection } from '../../../src/runtime/redis/redis-connection.ts'
import { REDIS_SNAPSHOTS, redisSnapshots } from '../../../src/runtime/redis/redis-snapshots.ts'
import { remove, save, snapshot } from '../../contracts/snapshot-store.ts'
import { resp } from '../../provision/probe.ts'
import { useRedis } from '../../provision/use-server.ts'
import { connectedRedis, untilAway, untilConnected } from './connected-redis.ts'
import { FaultyCable } from './faulty-cable.ts'

const redis = useRedis()
beforeEach(async () => {
  await resp(redis.port, 'FLUSHALL')
})

async function open(url = redis.url) {
  const connection = await connectedRedis(url, { reconnectDelayMsMax: 50 })
  onTestFinished(() => connection.close())
  return { connection, store: redisSnapshots(connection) }
}

async function ask(connection: RedisConnection, ...command: [string, ...(string | number)[]]) {
  const [answer] = await connection.execute([command])
  return answer
}

describe('what is kept', () => {
  const key = 'decorum:snapshot:{job/1}'

  it('has a key that a cluster can place by the id alone', async () => {
    const { connection, store } = await open()
    await store.write([save({ id: 'job/1' })])
    expect(await ask(connection, 'keys', '*')).toEqual([key])
  })

  it('is kept for seven days after its last write', async () => {
    const { connection, store } = await open()
    await store.write([save({ id: 'job/1', seq: 1 })])
    await ask(connection, 'pexpire', key, 5_000)
    await store.write([save({ id: 'job/1', seq: 2 })])
    const leftMs = Number(await ask(connection, 'pttl', key))
    expect(leftMs).toBeGreaterThan(5_000)
    expect(leftMs).toBeLessThanOrEqual(REDIS_SNAPSHOTS.ttlMs)
    expect(REDIS_SNAPSHOTS.ttlMs).toBe(604_800_000)
  })

  it('is not kept longer by a write that is refused', async () => {
    const { connection, store } = await open()
    await store.write([save({ id: 'job/1', fence: 2 })])
    await ask(connection, 'pexpire', key, 5_000)
    expect(await store.write([save({ id: 'job/1', fence: 1 })])).toEqual(['stale'])
    expect(Number(await ask(connection, 'pttl', key))).toBeLessThanOrEqual(5_000)
  })

  it('is guarded by its fence against other nodes', async () => {
    const [one, other] = [await open(), await open()]
    expect(await one.store.write([save({ fence: 1, seq: 8 })])).toEqual(['written'])
    expect(await other.store.write([save({ fence: 2, seq: 1, text: 'new' })])).toEqual(['written'])
    const late = await one.store.write([save({ fence: 1, seq: 9 }), remove('a', 1)])
    expect(late).toEqual(['stale', 'stale'])
    expect(await one.store.load(['a'])).toEqual([snapshot({ fence: 2, seq: 1, text: 'new' })])
  })

  it('is not seen under another prefix', async () => {
    const { connection, store } = await open()
    await store.write([save()])
    expect(await redisSnapshots(connection, { keyPrefix: 'other:' }).load(['a'])).toEqual([
      undefined,
    ])
  })

  it.each([
    [{ keyPrefix: 'all{in}one:' }, 'has braces'],
    [{ ttlMs: 0 }, 'cannot be kept for 0 ms'],
    [{ ttlMs: 0.5 }, 'cannot be kept for 0.5 ms'],
  ])('is not kept with %o', async (options, why) => {
    const { connection } = await open()
    expect(() => redisSnapshots(connection, options)).toThrow(why)
  })
})

describe('a Redis that forgets', () => {
  it('its scripts is told them again', async () => {
    const { connection, store } = await open()
    await store.write([save({ id: 'a' }), save({ id: 'b' })])
    await ask(connection, 'script', 'flush')
    const verdicts = await store.write([save({ id: 'a', seq: 2 }), save({ id: 'b', seq: 2 })])
    expect(verdicts).toEqual(['written', 'written'])
  })

  it('its scripts in the midst of a group fails the group, and takes the next', async () => {
    const cable = await FaultyCable.to(redis.port)
    const { store } = await open(cable.url)
    cable.mishearNext('evalsha\r\n$40\r\n', 'evalsha\r\n$40\r\nf00d')
    const group = (seq: number) => ['a', 'b', 'c'].map((id) => save({ id, seq }))
    await expect(store.write(group(1))).rejects.toThrow('its scripts were flushed')
    expect(await store.write(group(2))).toEqual(['written', 'written', 'written'])
  })

  it('everything answers that there is nothing, and takes what comes', async () => {
    const { store } = await open()
    await store.write([save({ fence: 5, seq: 5 })])
    await resp(redis.port, 'FLUSHALL')
    expect(await store.load(['a'])).toEqual([undefined])
    expect(await store.write([save({ fence: 5, seq: 6, text: 'after' })])).toEqual(['written'])
    expect(await store.load(['a'])).toEqual([snapshot({ fence: 5, seq: 6, text: 'after' })])
  })
})

describe('a Redis that is killed', () => {
  it('fails loads and writes, and after its restart does both again', async () => {
    const { connection, store } = await open()
    await Promise.all([untilAway(connection), redis.kill()])
    await expect(store.write([save()])).rejects.toThrow('cannot be used')
    await expect(store.load(['a'])).rejects.toThrow('cannot be used')
    await redis.restart()
    await untilConnected(connection)
    expect(await store.load(['a'])).toEqual([undefined])
    expect(await store.write([save({ text: 'again' })])).toEqual(['written'])
    expect(await store.load(['a'])).toEqual([snapshot({ text: 'again' })])
  })
})

describe('a write whose answer is lost', () => {
  it('has been applied once, and a later one is not taken for stale', async () => {
    const cable = await FaultyCable.to(redis.port)
    const { connection, store } = await open(cable.url)
    cable.cutNextAnswer()
    const group = (seq: number) => [remove('gone', 1), save({ id: 'a', seq, text: `${seq}` })]
    await expect(store.write(group(7))).rejects.toThrow('the connection broke')
    await untilConnected(connection)
    expect(await store.load(['a'])).toEqual([snapshot({ id: 'a', seq: 7, text: '7' })])
    expect(await store.write(group(8))).toEqual(['written', 'written'])
  })
})
