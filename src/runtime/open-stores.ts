import { join } from 'node:path'
import type { Clock, SnapshotStore } from '../actors/ports.ts'
import { openRedis, type RedisConnection } from './redis/redis-connection.ts'
import { redisSnapshots } from './redis/redis-snapshots.ts'
import { type JobStore, storeLimits } from './store/job-store.ts'
import { openPostgresStore } from './store/postgres/postgres-store.ts'
import { openSqliteStore } from './store/sqlite/sqlite-store.ts'

export interface StoreAddresses {
  readonly data: string
  readonly databaseUrl?: string | undefined
  readonly redisUrl?: string | undefined
  readonly clock: Clock
  readonly leaseMs: number
}

/** Longer than a first attempt to connect takes to fail. */
const REDIS_WAIT_MS_MAX = 2_500

export interface OpenStores {
  readonly jobs: JobStore
  readonly snapshots: SnapshotStore
  close(): Promise<void>
}

/** PostgreSQL and Redis where they are named, else one SQLite file for both. */
export async function openStores(addresses: StoreAddresses): Promise<OpenStores> {
  const { data, databaseUrl, redisUrl, clock } = addresses
  const limits = { ...storeLimits, leaseMs: addresses.leaseMs }
  if (databaseUrl === undefined) {
    const jobs = await openSqliteStore({ path: join(data, 'decorum.db'), clock, limits })
    return { jobs, snapshots: jobs.snapshots, close: () => jobs.close() }
  }
  const jobs = await openPostgresStore({ url: databaseUrl, limits })
  if (redisUrl === undefined) return { jobs, snapshots: jobs.snapshots, close: () => jobs.close() }
  const redis = openRedis(redisUrl)
  await connected(redis, clock)
  return {
    jobs,
    snapshots: redisSnapshots(redis),
    async close() {
      await redis.close()
      await jobs.close()
    },
  }
}

/**
 * A node that takes back its jobs before it can see their snapshots would begin them from the start.
 * A Redis that stays away does not keep it from starting.
 */
function connected(redis: RedisConnection, clock: Clock): Promise<void> {
  if (redis.isConnected) return Promise.resolve()
  return new Promise((resolve) => {
    const cancel = clock.wakeAt(clock.now() + REDIS_WAIT_MS_MAX, () => done())
    const ignore = redis.onChange((isConnected) => {
      if (isConnected) done()
    })
    const done = () => {
      cancel()
      ignore()
      resolve()
    }
  })
}
