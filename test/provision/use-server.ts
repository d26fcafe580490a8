import { afterAll, beforeAll, beforeEach } from 'vitest'
import { type PostgresOptions, type PostgresServer, startPostgres } from './postgres.ts'
import { type RedisOptions, type RedisServer, startRedis } from './redis.ts'
import { ServerUnavailable } from './server-unavailable.ts'

// Long enough for a package to be installed.
const START_WITHIN_MS = 300_000

/**
 * For the top of a suite: a PostgreSQL of its own, from before its first test until after its last.
 * Where none can be had the suite's tests are skipped with the reason, except with CI=true: there a
 * green run must mean that they ran.
 */
export function usePostgres(options: PostgresOptions = {}): PostgresServer {
  return useServer('PostgreSQL', () => startPostgres(options))
}

/** The same with a Redis. */
export function useRedis(options: RedisOptions = {}): RedisServer {
  return useServer('Redis', () => startRedis(options))
}

function useServer<Server extends { stop(): Promise<void> }>(
  name: string,
  start: () => Promise<Server>,
): Server {
  let server: Server | undefined
  let reason = 'the suite has not begun'

  beforeAll(async () => {
    try {
      server = await start()
    } catch (error) {
      if (!(error instanceof ServerUnavailable) || process.env.CI === 'true') throw error
      reason = error.message
      // Vitest's usual report counts skipped tests without their reasons.
      process.stderr.write(`skipped, no ${name}: ${reason}\n`)
    }
  }, START_WITHIN_MS)
  beforeEach(({ skip }) => {
    if (!server) skip(`no ${name}: ${reason}`)
  })
  afterAll(() => server?.stop())

  return standIn(() => {
    if (!server) throw new Error(`no ${name}: ${reason}`)
    return server
  })
}

/** Lets a suite hold the server by name before it is there; its fields are read when used. */
function standIn<T extends object>(current: () => T): T {
  return new Proxy({} as T, { get: (_, field) => Reflect.get(current(), field) })
}
