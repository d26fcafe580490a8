import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ActorHost } from '../../../../src/actors/host.ts'
import { statechartOf } from '../../../../src/actors/statechart.ts'
import { VirtualClock } from '../../../../src/actors/virtual-clock.ts'
import {
  type LimiterCommand,
  type LimiterMessage,
  limiterMachine,
} from '../../../../src/machines/limiter.ts'
import { rateLimitConfig } from '../../../../src/machines/rate-limit-config.ts'
import { systemClock } from '../../../../src/runtime/clock.ts'
import { migrate } from '../../../../src/runtime/store/sqlite/migrate.ts'
import {
  inTransaction,
  openSqliteDatabase,
} from '../../../../src/runtime/store/sqlite/sqlite-database.ts'
import {
  openSqliteSnapshots,
  sqliteSnapshots,
} from '../../../../src/runtime/store/sqlite/sqlite-snapshots.ts'
import { remove, save, snapshot } from '../../../contracts/snapshot-store.ts'

let folder: string
let path: string
let closing: (() => void)[]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'decorum-sqlite-'))
  path = join(folder, 'decorum.db')
  closing = []
})
afterEach(() => {
  for (const close of closing) close()
  rmSync(folder, { recursive: true })
})

function open() {
  const store = openSqliteSnapshots(path)
  closing.push(() => store.close())
  return store
}

describe('the file', () => {
  it('what was written is there after closing and opening again', () => {
    const first = openSqliteSnapshots(path)
    first.write([save({ id: 'a', fence: 3, seq: 4, dueAt: 5.5, text: 'kept' }), save({ id: 'b' })])
    first.write([remove('b', 1)])
    first.close()
    const stored = snapshot({ id: 'a', fence: 3, seq: 4, dueAt: 5.5, text: 'kept' })
    expect(open().load(['a', 'b'])).toEqual([stored, undefined])
  })

  it('fences and sequence numbers hold across handles', () => {
    const [one, other] = [open(), open()]
    expect(one.write([save({ fence: 1, seq: 8, text: 'one' })])).toEqual(['written'])
    expect(other.write([save({ fence: 2, seq: 1, text: 'other' })])).toEqual(['written'])
    expect(one.write([save({ fence: 1, seq: 9 }), remove('a', 1)])).toEqual(['stale', 'stale'])
    expect(one.load(['a'])[0]?.text).toBe('other')
  })

  it('is kept in a way that survives a power cut', () => {
    const database = openSqliteDatabase(path)
    closing.push(() => database.close())
    expect(database.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
    expect(database.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2 })
  })

  it('a group that fails half-way leaves nothing behind, and the store goes on', () => {
    const store = open()
    const spoiled = { ...save({ id: 'b' }), dueAt: 'soon' as unknown as number }
    expect(() => store.write([save({ id: 'a' }), spoiled])).toThrow()
    expect(store.load(['a', 'b'])).toEqual([undefined, undefined])
    expect(store.write([save({ id: 'a' })])).toEqual(['written'])
  })

  it('may be shared with another store, and a transaction with it', () => {
    const database = openSqliteDatabase(path)
    closing.push(() => database.close())
    migrate(database, systemClock)
    const store = sqliteSnapshots(database)
    const failing = () =>
      inTransaction(database, () => {
        database.exec(`INSERT INTO pauses VALUES ('*')`)
        expect(store.write([save()])).toEqual(['written'])
        throw new Error('no')
      })
    expect(failing).toThrow('no')
    expect(store.load(['a'])).toEqual([undefined])
    expect(database.prepare('SELECT count(*) AS pauses FROM pauses').get()).toEqual({ pauses: 0 })
  })
})

describe('a path that cannot be used is named, with what to do', () => {
  it('in a directory that does not exist', () => {
    const missing = join(folder, 'missing', 'decorum.db')
    expect(() => openSqliteSnapshots(missing)).toThrow(
      `The database '${missing}' cannot be opened: there is no such directory`,
    )
  })

  it('of a directory', () => {
    mkdirSync(path)
    expect(() => openSqliteSnapshots(path)).toThrow(`'${path}' cannot be opened`)
  })

  it('of a file that is something else', () => {
    writeFileSync(path, 'Dear diary, '.repeat(1_000))
    expect(() => openSqliteSnapshots(path)).toThrow('is not a SQLite database')
  })

  it('of a file that another process keeps to itself', () => {
    const other = new DatabaseSync(path)
    closing.push(() => other.close())
    other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; CREATE TABLE mine (id TEXT)')
    expect(() => openSqliteDatabase(path, { busyMsMax: 0 })).toThrow('has it locked')
  })
})

describe('a host that is killed', () => {
  const config = rateLimitConfig({ strategy: 'fixed', initialRps: 1, permitMs: 60_000 })
  const chart = statechartOf(limiterMachine(config))
  const domain = 'example.org'

  function start(clock: VirtualClock) {
    const store = openSqliteSnapshots(path)
    const host = new ActorHost({ clock, chance: () => 0, snapshots: store })
    const performed: LimiterCommand[] = []
    const limiters = host.register<LimiterMessage, LimiterCommand>({
      name: 'limiter',
      chart: () => chart,
      input: () => ({}),
      perform: (command) => void performed.push(command),
      isDurable: true,
    })
    const kill = () => {
      host.halt()
      store.close()
    }
    return { limiters, performed, kill }
  }

  it('and started again goes on where it stood', () => {
    const clock = new VirtualClock(1_000_000)
    const killed = start(clock)
    killed.limiters.send(domain, { type: 'ACQUIRE', id: 'first' })
    clock.advance(1_000)
    expect(killed.performed).toMatchObject([{ type: 'grant', id: 'first' }])
    killed.limiters.send(domain, {
      ...{ type: 'FEEDBACK', id: 'first', kind: 'throttled', latencyMs: 5 },
      ...{ retryAfterMs: 30_000, ends: false },
    })
    killed.limiters.send(domain, { type: 'ACQUIRE', id: 'second', waitMs: 60_000 })
    clock.advance(50)
    const before = killed.limiters.peek(domain)
    killed.kill()

    const revived = start(clock)
    revived.limiters.start(domain, { input: {} })
    clock.settle()
    expect(revived.limiters.peek(domain)?.value).toBe('cooling')
    expect(revived.limiters.peek(domain)?.context).toMatchObject({
      waiters: before?.context.waiters,
      permits: before?.context.permits,
      notBefore: 1_031_000,
      pace: before?.context.pace,
    })
    clock.advanceTo(1_030_999)
    expect(revived.performed).toEqual([])
    clock.advance(1)
    expect(revived.performed).toMatchObject([{ type: 'grant', id: 'second' }])
    revived.kill()
  })
})
