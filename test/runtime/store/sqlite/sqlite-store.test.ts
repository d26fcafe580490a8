import { spawn } from 'node:child_process'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../../src/runtime/clock.ts'
import { type NewJob, StoreRefused } from '../../../../src/runtime/store/job-store.ts'
import { migrate } from '../../../../src/runtime/store/sqlite/migrate.ts'
import { openSqliteDatabase } from '../../../../src/runtime/store/sqlite/sqlite-database.ts'
import { openSqliteStore, sqliteStore } from '../../../../src/runtime/store/sqlite/sqlite-store.ts'
import { save } from '../../../contracts/snapshot-store.ts'

const clock = systemClock
const storePath = new URL('../../../../src/runtime/store/sqlite/sqlite-store.ts', import.meta.url)
  .href
const clockPath = new URL('../../../../src/runtime/clock.ts', import.meta.url).href

let folder: string
let path: string
let closing: (() => unknown)[]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'decorum-store-'))
  path = join(folder, 'decorum.db')
  closing = []
})
afterEach(async () => {
  for (const close of closing) await close()
  rmSync(folder, { recursive: true })
})

function open() {
  const database = openSqliteDatabase(path, { busyMsMax: 0 })
  migrate(database, clock)
  const store = sqliteStore(database, { clock })
  closing.push(() => store.close())
  return { database, store }
}

const job = (id: string, part: Partial<NewJob> = {}): NewJob => ({
  ...{ id, type: 'fetch', version: '1', body: '{}', key: null, domain: 'a.example', priority: 0 },
  ...{ runAt: null, attemptsMax: 5, taskId: null, traceId: 't', spanId: 's' },
  ...part,
})
const node = { id: 'node', role: 'all', address: null, version: '1' } as const

describe('a job that was accepted', () => {
  it('is there after its process was killed in the middle of more', async () => {
    const program = `
      const { openSqliteStore } = await import(${JSON.stringify(storePath)})
      const { systemClock: clock } = await import(${JSON.stringify(clockPath)})
      const store = await openSqliteStore({ path: ${JSON.stringify(path)}, clock })
      const job = ${JSON.stringify(job(''))}
      for (let n = 0; ; n++) {
        const [{ id }] = await store.add([{ ...job, id: String(n) }])
        process.stdout.write(id + '\\n')
      }`
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let heard = ''
    for await (const text of child.stdout.setEncoding('utf8')) {
      heard += text
      if (heard.split('\n').length > 50) child.kill('SIGKILL')
    }
    const accepted = heard.split('\n').length - 1
    const { store } = open()
    expect(await store.get(String(accepted - 1))).toMatchObject({ state: 'queued' })
    expect((await store.counts()).live.queued).toBeGreaterThanOrEqual(accepted)
  })

  it('shares its transaction with a snapshot of the same turn', async () => {
    const { store, database } = open()
    database.exec(`CREATE TRIGGER full BEFORE INSERT ON snapshots
      BEGIN SELECT raise(ROLLBACK, 'no room'); END`)
    const both = [store.add([job('a')]), store.snapshots.write([save()])]
    const [added, saved] = await Promise.allSettled(both)
    expect([added?.status, saved?.status]).toEqual(['rejected', 'rejected'])
    expect(await store.get('a')).toBeUndefined()
    database.exec('DROP TRIGGER full')
    expect(await store.snapshots.write([save()])).toEqual(['written'])
    expect(await store.snapshots.load(['a'])).toMatchObject([{ id: 'a' }])
  })
})

describe('hints', () => {
  it('come when there is something to claim, and when somebody wants a job cancelled', async () => {
    const { store } = open()
    const hints: string[] = []
    const stop = store.onHint((hint) => hints.push(hint))
    const { epoch } = await store.enlist(node)
    await store.add([job('a')])
    expect(hints).toEqual(['jobs'])
    const request = {
      types: ['fetch'],
      refusedDomains: [],
      domainJobsMax: 50,
      takesSuspect: true,
      after: null,
    }
    await store.claim({ nodeId: node.id, epoch, jobsMax: 1, ...request })
    await store.cancel('a')
    expect(hints).toEqual(['jobs', 'cancel'])
    stop()
    await store.add([job('b')])
    expect(hints).toHaveLength(2)
  })
})

describe('a full disk', () => {
  it('is said to be one, loses nothing, and is forgotten when there is room', async () => {
    const { store, database } = open()
    await store.add([job('a')])
    const pages = Number(database.prepare('PRAGMA page_count').get()?.page_count)
    database.exec(`PRAGMA max_page_count = ${pages + 2}`)
    const body = JSON.stringify('x'.repeat(60_000))
    await expect(store.add([job('b', { body })])).rejects.toMatchObject({
      code: 'disk.full',
      message: expect.stringContaining('Make room'),
    })
    expect(await store.get('a')).toMatchObject({ state: 'queued' })
    expect(await store.get('b')).toBeUndefined()
    database.exec('PRAGMA max_page_count = 1000000')
    expect(await store.add([job('b', { body })])).toEqual([{ id: 'b', isNew: true }])
  })

  it('answers each of a group truly: what is not there was rejected, what is was not', async () => {
    const { store, database } = open()
    const pages = Number(database.prepare('PRAGMA page_count').get()?.page_count)
    database.exec(`PRAGMA max_page_count = ${pages + 4}`)
    const body = JSON.stringify('x'.repeat(60_000))
    const ids = ['a', 'b', 'c']
    const answers = await Promise.allSettled(
      ids.map((id) => store.add([job(id, id === 'b' ? { body } : {})])),
    )
    for (const [index, id] of ids.entries())
      expect((await store.get(id)) !== undefined).toBe(answers[index]?.status === 'fulfilled')
    expect(answers[1]).toMatchObject({ reason: { code: 'disk.full' } })
  })
})

describe('a database that cannot be written', () => {
  it('because it is read-only says so, and can still be read', async () => {
    const { store, database } = open()
    await store.add([job('a')])
    database.exec('PRAGMA query_only = ON')
    await expect(store.add([job('b')])).rejects.toMatchObject({ code: 'database.readOnly' })
    expect(await store.get('a')).toMatchObject({ id: 'a' })
  })

  it('because another process writes is busy, and free afterwards', async () => {
    const { store } = open()
    const stranger = new DatabaseSync(path)
    closing.push(() => stranger.close())
    stranger.exec(`BEGIN IMMEDIATE; INSERT INTO outbox (type, body) VALUES ('fetch', '{}')`)
    await expect(store.add([job('a')])).rejects.toMatchObject({ code: 'database.busy' })
    stranger.exec('COMMIT')
    expect(await store.add([job('a')])).toEqual([{ id: 'a', isNew: true }])
    expect((await store.counts()).outbox).toBe(1)
  })

  it('because it was moved away accepts nothing until it is back', async () => {
    const { store } = open()
    renameSync(path, `${path}.away`)
    await expect(store.add([job('a')])).rejects.toMatchObject({
      code: 'database.away',
      message: expect.stringContaining('put it back'),
    })
    writeFileSync(path, '')
    await expect(store.add([job('a')])).rejects.toMatchObject({ code: 'database.away' })
    renameSync(`${path}.away`, path)
    expect(await store.add([job('a')])).toEqual([{ id: 'a', isNew: true }])
  })
})

describe('a database that cannot be opened', () => {
  it.each([
    ['is something else', 'Dear diary, '.repeat(1_000), 'not a SQLite database'],
    ['is damaged', `SQLite format 3\0${'x'.repeat(8_192)}`, 'cannot be'],
  ])('because it %s is refused', async (_, content, words) => {
    writeFileSync(path, content)
    const opening = openSqliteStore({ path, clock })
    await expect(opening).rejects.toThrow(StoreRefused)
    await expect(opening).rejects.toThrow(words)
  })

  it('because a newer Decorum made it is refused, and left alone', async () => {
    const { database } = open()
    database.exec(`INSERT INTO migrations VALUES (2, 'later', 'x', 0)`)
    await expect(openSqliteStore({ path, clock })).rejects.toThrow('start the newer Decorum')
  })
})

it('a store in memory needs no file', async () => {
  const store = await openSqliteStore({ path: ':memory:', clock })
  closing.push(() => store.close())
  expect(await store.add([job('a')])).toEqual([{ id: 'a', isNew: true }])
})
