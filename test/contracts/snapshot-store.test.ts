import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe } from 'vitest'
import { MemorySnapshots } from '../../src/actors/memory-snapshots.ts'
import { redisSnapshots } from '../../src/runtime/redis/redis-snapshots.ts'
import { openPostgresStore } from '../../src/runtime/store/postgres/postgres-store.ts'
import { openSqliteSnapshots } from '../../src/runtime/store/sqlite/sqlite-snapshots.ts'
import { usePostgres, useRedis } from '../provision/use-server.ts'
import { connectedRedis } from '../runtime/redis/connected-redis.ts'
import { snapshotStoreContract } from './snapshot-store.ts'

snapshotStoreContract('memory', () => ({ store: new MemorySnapshots(), close: () => {} }))

snapshotStoreContract('SQLite in memory', () => {
  const store = openSqliteSnapshots(':memory:')
  return { store, close: () => store.close() }
})

snapshotStoreContract('a SQLite file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'decorum-snapshots-'))
  const store = openSqliteSnapshots(join(folder, 'decorum.db'))
  return {
    store,
    close() {
      store.close()
      rmSync(folder, { recursive: true })
    },
  }
})

describe('on real servers', () => {
  const redis = useRedis()
  const postgres = usePostgres()
  let opened = 0

  snapshotStoreContract('Redis', async () => {
    // No test asserts how fast it is: a busy machine may take its time.
    const connection = await connectedRedis(redis.url, { commandTimeoutMs: 20_000 })
    const store = redisSnapshots(connection, { keyPrefix: `test-${opened++}:` })
    return { store, close: () => connection.close() }
  })

  snapshotStoreContract('PostgreSQL', async () => {
    const store = await openPostgresStore({ url: postgres.url, schema: `test_${opened++}` })
    return { store: store.snapshots, close: () => store.close() }
  })
})
