/**
 * Snapshots in a SQLite file. A group of writes is one transaction: when `write` answers, every
 * write that was not stale is on the disk; when it throws, none is. Several handles may share the
 * file: who may write is decided by the statements themselves, against what is stored.
 */
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import type {
  SnapshotStore,
  SnapshotWrite,
  StoredSnapshot,
  WriteVerdict,
} from '../../../actors/ports.ts'
import { systemClock } from '../../clock.ts'
import { migrate } from './migrate.ts'
import { inTransaction, openSqliteDatabase } from './sqlite-database.ts'

export interface SqliteSnapshots extends SnapshotStore {
  load(ids: readonly string[]): readonly (StoredSnapshot | undefined)[]
  write(writes: readonly SnapshotWrite[]): readonly WriteVerdict[]
}

export function openSqliteSnapshots(path: string): SqliteSnapshots & { close(): void } {
  const database = openSqliteDatabase(path)
  migrate(database, systemClock)
  const { load, write } = sqliteSnapshots(database)
  return {
    load,
    write: (writes) => (writes.length === 0 ? [] : inTransaction(database, () => write(writes))),
    close: () => database.close(),
  }
}

/**
 * For a migrated database that other stores share; the one who opened it closes it, and makes a
 * transaction around each `write`.
 */
export function sqliteSnapshots(database: DatabaseSync): SqliteSnapshots {
  const load = loadStatement(database)
  const save = saveStatement(database)
  const remove = removeStatement(database)
  const apply = (write: SnapshotWrite) => (write.kind === 'save' ? save(write) : remove(write))
  return { load, write: (writes) => writes.map(apply) }
}

/**
 * One question for any number of ids, and so one consistent view of them all: no write of another
 * handle falls between two answers. An id asked for twice is answered twice.
 */
function loadStatement(database: DatabaseSync): SqliteSnapshots['load'] {
  const statement = database.prepare(`
    SELECT wanted.key AS place, snapshots.*
    FROM json_each(?) AS wanted JOIN snapshots ON snapshots.id = wanted.value`)
  return (ids) => {
    const answers = new Array<StoredSnapshot | undefined>(ids.length).fill(undefined)
    for (const row of statement.all(JSON.stringify(ids)))
      answers[Number(row.place)] = storedSnapshot(row)
    return answers
  }
}

/** Stores the snapshot unless one with a newer fence, or a later one under the same, is there. */
function saveStatement(database: DatabaseSync): (snapshot: StoredSnapshot) => WriteVerdict {
  const statement = database.prepare(`
    INSERT INTO snapshots (id, fence, seq, due_at, text) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET
      fence = excluded.fence, seq = excluded.seq, due_at = excluded.due_at, text = excluded.text
    WHERE (excluded.fence, excluded.seq) > (snapshots.fence, snapshots.seq)`)
  return ({ id, fence, seq, dueAt, text }) =>
    statement.run(id, fence, seq, dueAt, text).changes === 1 ? 'written' : 'stale'
}

/** Afterwards nothing is stored, unless somebody with a newer fence has been here. */
function removeStatement(
  database: DatabaseSync,
): (removal: { readonly id: string; readonly fence: number }) => WriteVerdict {
  const removal = database.prepare('DELETE FROM snapshots WHERE id = ? AND fence <= ?')
  const survivor = database.prepare('SELECT 1 FROM snapshots WHERE id = ?')
  return ({ id, fence }) =>
    removal.run(id, fence).changes === 1 || !survivor.get(id) ? 'written' : 'stale'
}

function storedSnapshot(row: Readonly<Record<string, SQLOutputValue>>): StoredSnapshot {
  return {
    id: String(row.id),
    fence: Number(row.fence),
    seq: Number(row.seq),
    dueAt: row.due_at === null ? null : Number(row.due_at),
    text: String(row.text),
  }
}
