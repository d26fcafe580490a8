import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  openRedis,
  type RedisConnection,
  type RedisLimits,
} from '../../../src/runtime/redis/redis-connection.ts'
import { freePort } from '../../provision/free-port.ts'
import { resp } from '../../provision/probe.ts'
import { useRedis } from '../../provision/use-server.ts'
import { untilAway, untilConnected } from './connected-redis.ts'
import { FaultyCable } from './faulty-cable.ts'

/** Closed when the test ends. */
function open(url: string, limits: Partial<RedisLimits> = {}): RedisConnection {
  const connection = openRedis(url, { reconnectDelayMsMax: 50, ...limits })
  onTestFinished(() => connection.close())
  return connection
}

describe('a Redis that is there', () => {
  const redis = useRedis()

  it('answers in the order of the commands, however many there are', async () => {
    const connection = open(redis.url, { pipelineCommandsMax: 3 })
    await untilConnected(connection)
    const numbers = Array.from({ length: 8 }, (_, index) => index + 1)
    expect(await connection.execute(numbers.map(() => ['incr', 'in-order']))).toEqual(numbers)
    expect(await connection.execute([])).toEqual([])
  })

  it('one command that fails fails them all, and says so without the arguments', async () => {
    const connection = open(redis.url)
    await untilConnected(connection)
    const failed = connection.execute([
      ['set', 'a-text', 'confidential'],
      ['hset', 'a-text', 'field', 'confidential'],
    ])
    const error: unknown = await failed.catch((reason) => reason)
    expect(error).toMatchObject({ name: 'RedisTrouble' })
    expect((error as Error).message).toMatch(/^Redis at redis:\/\/127.0.0.1:\d+\/0 cannot be used/)
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('confidential')
  })

  it('is used in the database that the address names', async () => {
    const [third, preset] = [open(`${redis.url}/3`), open(redis.url)]
    await Promise.all([third, preset].map(untilConnected))
    await third.execute([['set', 'where', 'third']])
    expect(await preset.execute([['get', 'where']])).toEqual([null])
    expect(await third.execute([['get', 'where']])).toEqual(['third'])
  })

  it('without that database is not used at all', async () => {
    const connection = open(`${redis.url}/99`)
    expect(await untilAway(connection)).toMatch('it has no database of that number')
    await expect(connection.execute([['set', 'a', 1]])).rejects.toThrow('no database')
    expect(connection.isConnected).toBe(false)
  })

  it('that has become a replica is said to be one, and used again when it is none', async () => {
    const connection = open(redis.url)
    await untilConnected(connection)
    await resp(redis.port, 'REPLICAOF 127.0.0.1 1')
    const away = untilAway(connection)
    await expect(connection.execute([['set', 'b', 1]])).rejects.toThrow('read-only replica')
    await away
    await resp(redis.port, 'REPLICAOF NO ONE')
    await untilConnected(connection)
    expect(await connection.execute([['set', 'b', 1]])).toEqual(['OK'])
  })
})

describe('a Redis with a password', () => {
  const password = 'p@ss/word%'
  const redis = useRedis({ settings: { requirepass: password } })
  const urlWith = (user: string) => redis.url.replace('redis://', `redis://${user}@`)

  it('is opened with it', async () => {
    const connection = open(urlWith(`:${encodeURIComponent(password)}`))
    await untilConnected(connection)
    expect(await connection.execute([['ping']])).toEqual(['PONG'])
  })

  it('says that another is wrong, and does not repeat it', async () => {
    const connection = open(urlWith(':guessed'))
    expect(await untilAway(connection)).toBe(
      'user or password are wrong. Correct them in the address of Redis.',
    )
    const error: unknown = await connection.execute([['ping']]).catch((reason) => reason)
    expect((error as Error).message).toContain('user or password are wrong')
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('guessed')
  })

  it('says that it wants one', async () => {
    expect(await untilAway(open(redis.url))).toMatch(/wants a password.*redis:\/\/:password@host/)
  })
})

describe('a Redis that is away', () => {
  const redis = useRedis()

  it('is no reason to throw, and is told of once', async () => {
    const connection = open(`redis://127.0.0.1:${await freePort()}`)
    const heard: (string | undefined)[] = []
    connection.onChange((_, trouble) => heard.push(trouble))
    await untilAway(connection)
    for (let attempts = 0; attempts < 3; attempts++)
      await expect(connection.execute([['ping']])).rejects.toThrow('nobody listens there')
    expect(heard).toEqual(['nobody listens there. Start Redis, or correct its address.'])
  })

  it('fails at once what is asked before the first connection is made', async () => {
    await expect(open(redis.url).execute([['ping']])).rejects.toThrow('still being made')
  })

  it('fails what was under way when it was killed, and is used again after its restart', async () => {
    const connection = open(redis.url, { commandTimeoutMs: 60_000 })
    await untilConnected(connection)
    await resp(redis.port, 'CLIENT PAUSE 60000')
    const underWay = connection.execute([['set', 'a', 1]])
    const [away] = await Promise.all([
      untilAway(connection),
      expect(underWay).rejects.toThrow('the connection broke'),
      redis.kill(),
    ])
    expect(away).toMatch(/connection broke|nobody listens/)
    await expect(connection.execute([['ping']])).rejects.toThrow('cannot be used')
    await redis.restart()
    await untilConnected(connection)
    expect(await connection.execute([['ping']])).toEqual(['PONG'])
  })

  it('and says nothing is given up, and a new connection made', async () => {
    const cable = await FaultyCable.to(redis.port)
    const connection = open(cable.url, { commandTimeoutMs: 100 })
    await untilConnected(connection)
    cable.fallSilent()
    const away = untilAway(connection)
    await expect(connection.execute([['ping']])).rejects.toThrow('does not answer in time')
    await away
    cable.heal()
    await untilConnected(connection)
    expect(await connection.execute([['ping']])).toEqual(['PONG'])
  })
})

describe('a command whose answer is lost', () => {
  const redis = useRedis()

  it('fails, and is not sent a second time', async () => {
    const cable = await FaultyCable.to(redis.port)
    const connection = open(cable.url)
    await untilConnected(connection)
    cable.cutNextAnswer()
    await expect(connection.execute([['incr', 'lost']])).rejects.toThrow('the connection broke')
    await untilConnected(connection)
    expect(await connection.execute([['get', 'lost']])).toEqual(['1'])
  })

  it('fails those whose answers had come, too', async () => {
    const cable = await FaultyCable.to(redis.port)
    const connection = open(cable.url)
    await untilConnected(connection)
    cable.cutNextAnswer(':1\r\n'.length)
    const failed = connection.execute([
      ['incr', 'half'],
      ['incr', 'half'],
      ['incr', 'half'],
    ])
    await expect(failed).rejects.toThrow('the connection broke')
    await untilConnected(connection)
    expect(await connection.execute([['get', 'half']])).toEqual(['3'])
  })
})

describe('closing', () => {
  const redis = useRedis()

  it('lets what is under way come to its end, and refuses what comes later', async () => {
    const connection = openRedis(redis.url, { commandTimeoutMs: 20_000 })
    await untilConnected(connection)
    const words = Array.from({ length: 5_000 }, (_, index) => `${index} `.repeat(200))
    const underWay = connection.execute(words.map((word) => ['echo', word]))
    await connection.close()
    expect(await underWay).toEqual(words)
    expect(connection.isConnected).toBe(false)
    await expect(connection.execute([['ping']])).rejects.toThrow('this process has closed')
  })

  it('tells no listener: nothing is wrong', async () => {
    const connection = openRedis(redis.url)
    await untilConnected(connection)
    let told = 0
    connection.onChange(() => told++)
    await connection.close()
    expect(told).toBe(0)
  })

  it.each([
    { when: 'it has just been opened', prepare: async () => openRedis(redis.url) },
    {
      when: 'it waits for the next attempt',
      prepare: async () => {
        const connection = openRedis(`redis://127.0.0.1:${await freePort()}`)
        await untilAway(connection)
        return connection
      },
    },
    {
      when: 'nobody answers',
      prepare: async () => {
        const cable = await FaultyCable.to(redis.port)
        const connection = openRedis(cable.url, { commandTimeoutMs: 100 })
        await untilConnected(connection)
        cable.fallSilent()
        return connection
      },
    },
    {
      when: 'it is closed already',
      prepare: async () => {
        const connection = openRedis(redis.url)
        await untilConnected(connection)
        await connection.close()
        return connection
      },
    },
  ])('does not hang when $when', async ({ prepare }) => {
    const connection = await prepare()
    await connection.close()
    await expect(connection.execute([['ping']])).rejects.toThrow('this process has closed')
  })

  it.each([
    { what: 'is there', url: async () => redis.url },
    { what: 'is away', url: async () => `redis://127.0.0.1:${await freePort()}` },
  ])('lets the process end when Redis $what', async ({ url }) => {
    const source = new URL('../../../src/runtime/redis/redis-connection.ts', import.meta.url)
    const program = `
      import { openRedis } from '${source}'
      const connection = openRedis('${await url()}')
      connection.onChange(() => connection.close())`
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: 'inherit',
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    expect(await once(child, 'exit')).toEqual([0, null])
  })
})
