/**
 * Snapshots in Redis, one hash each, gone `ttlMs` after the last write. Many nodes may share them:
 * who may write is decided by the script, against what is stored.
 *
 * A group that fails may have been applied in part, or in whole with the answer lost. The host then
 * sends the group again, and that is safe: each time a snapshot is encoded it takes a new `seq`, so
 * a repeated save is a later write and supersedes its own first attempt instead of being stale to
 * it; and a repeated removal finds nothing there. Only a save repeated with the same `seq` would be
 * stale, and nobody sends one: the host encodes anew, and the connection sends nothing twice.
 */
import { createHash } from 'node:crypto'
import type {
  SnapshotStore,
  SnapshotWrite,
  StoredSnapshot,
  WriteVerdict,
} from '../../actors/ports.ts'
import type { RedisCommand, RedisConnection } from './redis-connection.ts'

export interface RedisSnapshotsOptions {
  /** Whoever shares it shares the snapshots. */
  readonly keyPrefix: string
  readonly ttlMs: number
}

export const REDIS_SNAPSHOTS: RedisSnapshotsOptions = {
  keyPrefix: 'decorum:snapshot:',
  ttlMs: 7 * 24 * 60 * 60 * 1_000,
}

export interface RedisSnapshots extends SnapshotStore {
  load(ids: readonly string[]): Promise<readonly (StoredSnapshot | undefined)[]>
  write(writes: readonly SnapshotWrite[]): Promise<readonly WriteVerdict[]>
}

/** The one who opened the connection closes it. */
export function redisSnapshots(
  connection: RedisConnection,
  options: Partial<RedisSnapshotsOptions> = {},
): RedisSnapshots {
  const { keyPrefix, ttlMs } = { ...REDIS_SNAPSHOTS, ...options }
  if (/[{}]/.test(keyPrefix))
    throw new Error(
      `The key prefix '${keyPrefix}' has braces, which would tie all keys to one node.`,
    )
  if (!(Number.isSafeInteger(ttlMs) && ttlMs > 0))
    throw new Error(`Snapshots cannot be kept for ${ttlMs} ms: give a whole number above 0.`)
  // The braces let a cluster place each snapshot by its id alone.
  const keyOf = (id: string) => `${keyPrefix}{${id}}`

  return {
    async load(ids) {
      const rows = await connection.execute(
        ids.map((id) => ['hmget', keyOf(id), 'fence', 'seq', 'due_at', 'text']),
      )
      return ids.map((id, place) => storedSnapshot(id, rows[place] as Row))
    },

    /**
     * The first write carries the script and the others name it, so that Redis always knows it.
     * Sending again only those it did not know would apply them after their successors.
     */
    async write(writes) {
      const answers = await connection.execute(
        writes.map(
          (write, place): RedisCommand => [
            ...(place === 0 ? (['eval', WRITE] as const) : (['evalsha', WRITE_DIGEST] as const)),
            ...[1, keyOf(write.id)],
            ...(write.kind === 'remove' ? removal(write.fence) : saving(write, ttlMs)),
          ],
        ),
      )
      return answers.map((answer) => (answer === 1 ? 'written' : 'stale'))
    },
  }
}

/**
 * Saves unless a newer fence, or a later write under the same, is stored; removes unless a newer
 * fence is. In one step, whoever else writes.
 *
 * KEYS  the snapshot
 * ARGV  'save', fence, seq, due_at or '', text, time to live in ms; or 'remove', fence
 * Gives 1 when written, 0 when stale.
 */
const WRITE = `
local kind, fence = ARGV[1], tonumber(ARGV[2])
local stored = redis.call('HMGET', KEYS[1], 'fence', 'seq')
local stored_fence, stored_seq = tonumber(stored[1]), tonumber(stored[2])
if stored_fence and stored_fence > fence then return 0 end
if kind == 'remove' then
  redis.call('DEL', KEYS[1])
  return 1
end
if stored_fence == fence and stored_seq >= tonumber(ARGV[3]) then return 0 end
redis.call('HSET', KEYS[1], 'fence', ARGV[2], 'seq', ARGV[3], 'due_at', ARGV[4], 'text', ARGV[5])
redis.call('PEXPIRE', KEYS[1], ARGV[6])
return 1`

const WRITE_DIGEST = createHash('sha1').update(WRITE).digest('hex')

function saving({ fence, seq, dueAt, text }: StoredSnapshot, ttlMs: number): (string | number)[] {
  return ['save', fence, seq, dueAt ?? '', text, ttlMs]
}

function removal(fence: number): (string | number)[] {
  return ['remove', fence]
}

type Row = readonly [fence: string, seq: string, dueAt: string, text: string] | readonly null[]

function storedSnapshot(id: string, [fence, seq, dueAt, text]: Row): StoredSnapshot | undefined {
  if (fence == null || seq == null || text == null) return undefined
  return {
    id,
    fence: Number(fence),
    seq: Number(seq),
    dueAt: dueAt ? Number(dueAt) : null,
    text,
  }
}
