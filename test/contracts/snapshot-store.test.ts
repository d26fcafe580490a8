import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MemorySnapshots } from '../../src/actors/memory-snapshots.ts'
import { openSqliteSnapshots } from '../../src/runtime/sqlite-snapshots.ts'
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
