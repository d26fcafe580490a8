import type { Settings } from './contestant.ts'

/** How Redis writes to disk; the private Redis of the tests keeps everything in memory. */
export type RedisPersistence = 'none' | 'everysec' | 'always'

export interface Contender {
  /** For --only. */
  readonly name: string
  readonly label: string
  readonly isOurs: boolean
  /** The file in bench/peers. */
  readonly adapter: string
  readonly postgres: boolean
  readonly redis: RedisPersistence | undefined
  readonly settings: Settings
  /** The settings in words, for the report. */
  readonly configured: string
  /** What a reader must know before comparing: each as the library ships it. */
  readonly keepsHistory: string
  readonly survivesPowerLoss: string
  readonly fence: string
}

const bullmq = {
  isOurs: false,
  adapter: 'bullmq',
  keepsHistory: 'yes, all finished jobs',
  fence: 'lock token, checked at completion',
} as const

const bullmqOnRedis = {
  ...bullmq,
  postgres: false,
  settings: { concurrency: 100, bulkSize: 250, bulksAtOnce: 8 },
  configured: 'concurrency 100, addBulk of 250, eight at once',
} as const

const graphileBulks = { concurrency: 24, bulkSize: 2_500, bulksAtOnce: 4 } as const

const graphile = {
  isOurs: false,
  adapter: 'graphile-worker',
  postgres: true,
  redis: undefined,
  keepsHistory: 'no, finished jobs are deleted',
  survivesPowerLoss: 'yes',
  fence: 'none: a job is deleted by its id alone',
} as const

const decorum = {
  isOurs: true,
  adapter: 'decorum',
  settings: { concurrency: 1_000, bulkSize: 2_500, bulksAtOnce: 4 },
  configured: 'concurrency 1,000, submitMany of 2,500, four at once',
  keepsHistory: 'yes, for 7 days; failed ones for 30',
  survivesPowerLoss: 'yes',
  fence: 'counted up at every claim, checked by every write',
} as const

/**
 * Everybody produces and consumes in one process. The settings are the documented ones, or the best
 * of a few tried around them where the documentation leaves the choice to the reader.
 */
export const contenders: readonly Contender[] = [
  {
    ...bullmqOnRedis,
    name: 'bullmq-redis',
    label: 'BullMQ, Redis in memory',
    redis: 'none',
    survivesPowerLoss: 'no, nothing does',
  },
  {
    ...bullmqOnRedis,
    name: 'bullmq-redis-everysec',
    label: 'BullMQ, Redis with AOF everysec',
    redis: 'everysec',
    survivesPowerLoss: 'no, the last second or two is lost',
  },
  {
    ...bullmqOnRedis,
    name: 'bullmq-redis-always',
    label: 'BullMQ, Redis with AOF always',
    redis: 'always',
    survivesPowerLoss: 'yes',
  },
  {
    ...bullmq,
    name: 'bullmq-postgres',
    label: 'BullMQ, PostgreSQL',
    postgres: true,
    redis: undefined,
    settings: { onPostgres: 1, concurrency: 16, poolSize: 16, bulkSize: 1_000, bulksAtOnce: 4 },
    configured: 'concurrency 16, pool of 16, addBulk of 1,000, four at once',
    survivesPowerLoss: 'yes',
  },
  {
    ...graphile,
    name: 'graphile',
    label: 'graphile-worker, job by job',
    settings: { ...graphileBulks, localQueueSize: -1, batchDelayMs: -1 },
    configured: 'batching off as by default, concurrency 24, addJobs of 2,500, four at once',
  },
  {
    ...graphile,
    name: 'graphile-batched',
    label: 'graphile-worker, batched',
    settings: { ...graphileBulks, localQueueSize: 500, batchDelayMs: 0 },
    configured:
      'its documented fast settings: concurrency 24, local queue 500, batch delay 0; addJobs of 2,500, four at once',
  },
  {
    ...graphile,
    name: 'graphile-batched-2000',
    label: 'graphile-worker, batched, long local queue',
    settings: { ...graphileBulks, localQueueSize: 2_000, batchDelayMs: 0 },
    configured: 'the same with a local queue of 2,000, which was faster here',
  },
  {
    isOurs: false,
    name: 'pg-boss',
    label: 'pg-boss',
    adapter: 'pg-boss',
    postgres: true,
    redis: undefined,
    settings: {
      batchSize: 1_000,
      localConcurrency: 4,
      poolSize: 10,
      bulkSize: 2_500,
      bulksAtOnce: 4,
    },
    configured:
      'batches of 1,000, four workers, burst while batches are full, NOTIFY on (by default it polls every 2 s), insert of 2,500, four at once; one handler call is given a whole batch',
    keepsHistory: 'yes, for 7 days',
    survivesPowerLoss: 'yes',
    fence: 'retry count, checked at completion',
  },
  {
    ...decorum,
    name: 'decorum-sqlite',
    label: 'Decorum, SQLite',
    postgres: false,
    redis: undefined,
  },
  {
    ...decorum,
    name: 'decorum-postgres',
    label: 'Decorum, PostgreSQL and Redis',
    postgres: true,
    redis: 'none',
  },
]
