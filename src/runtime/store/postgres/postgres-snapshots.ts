/**
 * Snapshots in PostgreSQL, for those who run it without a Redis. Answered writes may be lost with a
 * crash of the server (not of this process): a snapshot is a convenience, and is not worth a flush of
 * the disk.
 */
import type {
  SnapshotStore,
  SnapshotWrite,
  StoredSnapshot,
  WriteVerdict,
} from '../../../actors/ports.ts'
import type { Database, Statements } from './database.ts'
import { jsonRows } from './json-rows.ts'

/** Each in the order asked for, also when it is asked for twice. Parameters: ids. */
const loadStatement = (s: string) => `
SELECT snapshots.id, fence, seq, due_at AS "dueAt", text
FROM unnest($1::text[]) WITH ORDINALITY AS wanted (id, place)
LEFT JOIN ${s}.snapshots ON snapshots.id = wanted.id
ORDER BY place`

/**
 * Stores each unless one with a newer fence, or a later one under the same, is there; answers those
 * it stored. Locked in the order of their ids. Parameters: snapshots.
 */
const saveStatement = (s: string) => `
INSERT INTO ${s}.snapshots (id, fence, seq, due_at, text)
SELECT id, fence, seq, "dueAt", text FROM json_to_recordset($1)
  AS given (id text, fence integer, seq bigint, "dueAt" double precision, text text)
ORDER BY id COLLATE "C"
ON CONFLICT (id) DO UPDATE SET fence = excluded.fence, seq = excluded.seq,
  due_at = excluded.due_at, text = excluded.text
WHERE (excluded.fence, excluded.seq) > (snapshots.fence, snapshots.seq)
RETURNING id`

/**
 * Afterwards nothing is stored, unless somebody with a newer fence has been here: answers those that
 * stay. Parameters: removals.
 */
const removeStatement = (s: string) => `
WITH given AS MATERIALIZED (
  SELECT * FROM json_to_recordset($1) AS given (id text, fence integer)
), held AS MATERIALIZED (
  SELECT snapshots.id, snapshots.fence <= given.fence AS is_ours
  FROM given JOIN ${s}.snapshots ON snapshots.id = given.id
  ORDER BY snapshots.id FOR UPDATE OF snapshots
), removed AS (
  DELETE FROM ${s}.snapshots WHERE id IN (SELECT id FROM held WHERE is_ours)
)
SELECT id FROM held WHERE NOT is_ours`

export function postgresSnapshots(database: Database): SnapshotStore {
  const s = database.schema

  const save = async (statements: Statements, saves: readonly SnapshotWrite[]) =>
    idsOf(await statements.query<{ id: string }>(saveStatement(s), [jsonRows(saves)]))

  const remove = async (statements: Statements, removals: readonly SnapshotWrite[]) =>
    idsOf(await statements.query<{ id: string }>(removeStatement(s), [jsonRows(removals)]))

  /** Writes of one kind, no id twice: one statement. */
  async function writeRun(
    statements: Statements,
    run: readonly SnapshotWrite[],
  ): Promise<WriteVerdict[]> {
    if (run[0]?.kind === 'save') {
      const saved = await save(statements, run)
      return run.map(({ id }) => (saved.has(id) ? 'written' : 'stale'))
    }
    const kept = await remove(statements, run)
    return run.map(({ id }) => (kept.has(id) ? 'stale' : 'written'))
  }

  return {
    async load(ids) {
      if (ids.length === 0) return []
      const rows = await database.query<StoredSnapshot | { id: null }>(loadStatement(s), [ids])
      return rows.map((row) => (row.id === null ? undefined : row))
    },
    async write(writes) {
      if (writes.length === 0) return []
      return database.transaction(async (statements) => {
        await statements.query('SET LOCAL synchronous_commit = off')
        const verdicts: WriteVerdict[] = []
        for (const run of runsOf(writes)) verdicts.push(...(await writeRun(statements, run)))
        return verdicts
      })
    },
  }
}

/** The writes in their order, cut where the kind changes or an id comes again. */
function runsOf(writes: readonly SnapshotWrite[]): SnapshotWrite[][] {
  const runs: SnapshotWrite[][] = []
  let run: SnapshotWrite[] = []
  let ids = new Set<string>()
  for (const write of writes) {
    if (run.length === 0 || run[0]?.kind !== write.kind || ids.has(write.id)) {
      run = []
      ids = new Set()
      runs.push(run)
    }
    run.push(write)
    ids.add(write.id)
  }
  return runs
}

function idsOf(rows: readonly { readonly id: string }[]): ReadonlySet<string> {
  return new Set(rows.map(({ id }) => id))
}
