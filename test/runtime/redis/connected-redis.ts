import {
  openRedis,
  type RedisConnection,
  type RedisLimits,
} from '../../../src/runtime/redis/redis-connection.ts'

/** A connection that is made. */
export async function connectedRedis(
  url: string,
  limits: Partial<RedisLimits> = {},
): Promise<RedisConnection> {
  const connection = openRedis(url, limits)
  await untilConnected(connection)
  return connection
}

export async function untilConnected(connection: RedisConnection): Promise<void> {
  if (connection.isConnected) return
  await nextChange(connection, (isConnected) => isConnected)
}

/** Why it is away. */
export async function untilAway(connection: RedisConnection, why = /./): Promise<string> {
  return await nextChange(
    connection,
    (isConnected, trouble = '') => !isConnected && why.test(trouble),
  )
}

async function nextChange(
  connection: RedisConnection,
  isAwaited: (isConnected: boolean, trouble: string | undefined) => boolean,
): Promise<string> {
  return await new Promise((resolve) => {
    const forget = connection.onChange((isConnected, trouble) => {
      if (!isAwaited(isConnected, trouble)) return
      forget()
      resolve(trouble ?? '')
    })
  })
}
