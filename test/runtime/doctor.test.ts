import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/runtime/clock.ts'
import { examine } from '../../src/runtime/doctor.ts'
import { lockDirectory } from '../../src/runtime/store/directory-lock.ts'
import { openPostgresStore } from '../../src/runtime/store/postgres/postgres-store.ts'
import { openSqliteStore } from '../../src/runtime/store/sqlite/sqlite-store.ts'
import { usePostgres, useRedis } from '../provision/use-server.ts'

describe('the doctor', () => {
  it('finds nothing wrong where nothing has been made yet, and makes nothing', async () => {
    const data = join(directory(), 'data')
    expect(await findings({ DECORUM_DATA: data })).toEqual([
      'ok configuration: Every setting can be used.',
      'ok jobs: The job types are http.request.',
      `ok data: The directory ${data} will be made at the first start.`,
      `ok database: The embedded database ${join(data, 'decorum.db')} will be made at the first start.`,
    ])
    expect(existsSync(data)).toBe(false)
  })

  it('says what is wrong with the configuration, and goes no further', async () => {
    expect(await findings({ DECORUM_PORT: 'x' })).toEqual([
      expect.stringContaining('wrong configuration: DECORUM_PORT is "x": '),
    ])
  })

  it('says that a jobs file cannot be used', async () => {
    const variables = { DECORUM_DATA: directory(), DECORUM_JOBS: './no-such-jobs.ts' }
    expect(await findings(variables)).toContainEqual(
      expect.stringContaining('wrong jobs: The jobs file ./no-such-jobs.ts cannot be used'),
    )
  })

  it('says that the data directory is a file', async () => {
    const data = join(directory(), 'data')
    writeFileSync(data, '')
    expect(await findings({ DECORUM_DATA: data })).toContain(
      `wrong data: ${data} is not a directory: move it away, or set DECORUM_DATA to another.`,
    )
  })

  it('knows who uses the data directory, and does not disturb them', async () => {
    const data = directory()
    const lock = lockDirectory(data)
    const look = async () => (await findings({ DECORUM_DATA: data }))[2]
    for (let time = 0; time < 2; time++)
      expect(await look()).toContain(
        `ok data: The directory ${data} is in use by process ${process.pid}`,
      )
    expect(() => lockDirectory(data)).toThrow('is in use')
    lock.release()
    expect(await look()).toBe(`ok data: The directory ${data} is free.`)
  })
})

describe('the doctor on the embedded database', () => {
  it('finds it as it was made, and leaves it as it is', async () => {
    const { data } = await made()
    const before = readdirSync(data)
    expect(await findings({ DECORUM_DATA: data })).toContainEqual(
      expect.stringMatching(/^ok schema: The schema is version \d+, exactly as it was made\.$/),
    )
    expect(readdirSync(data)).toEqual(before)
  })

  it('can look while it is in use', async () => {
    const { data, path } = await made()
    const store = await openSqliteStore({ path, clock: systemClock })
    onTestFinished(() => store.close())
    const [, , , database, schema] = await findings({ DECORUM_DATA: data })
    expect(database).toBe(`ok database: The embedded database ${path} can be read.`)
    expect(schema).toMatch(/^ok schema/)
  })

  it.each([
    [
      'an index is gone',
      'DROP INDEX jobs_ready',
      /^wrong schema: The index 'jobs_ready' is missing/,
    ],
    [
      'a newer Decorum was here',
      `INSERT INTO migrations VALUES (999, 'future', 'x', 0)`,
      /^wrong schema: The database has schema version \d+, and this Decorum knows only/,
    ],
    [
      'another Decorum made it',
      `UPDATE migrations SET checksum = 'x' WHERE version = 1`,
      /^wrong schema: Migration 1 .* is not the one this Decorum has/,
    ],
    [
      'migrations are to come',
      'DELETE FROM migrations',
      /^ok schema: Of \d+ migrations \d+ will be run at the next start\.$/,
    ],
  ])('sees that %s', async (_what, sql, finding) => {
    const { data, path } = await made()
    const database = new DatabaseSync(path)
    database.exec(sql)
    database.close()
    expect(await findings({ DECORUM_DATA: data })).toContainEqual(expect.stringMatching(finding))
  })

  it('says that a file is no database', async () => {
    const data = directory()
    writeFileSync(join(data, 'decorum.db'), 'x'.repeat(4_096))
    expect(await findings({ DECORUM_DATA: data })).toContainEqual(
      expect.stringMatching(/^wrong database: .*is not a SQLite database/),
    )
  })
})

describe('the doctor on PostgreSQL', () => {
  const postgres = usePostgres()

  it('finds nothing made yet, makes nothing, and later finds it as it was made', async () => {
    const variables = { DECORUM_DATA: directory(), DATABASE_URL: postgres.url }
    for (let time = 0; time < 2; time++)
      expect(await findings(variables)).toContainEqual(
        expect.stringMatching(/^ok schema: Of \d+ migrations \d+ will be run at the next start\.$/),
      )
    const store = await openPostgresStore({ url: postgres.url })
    await store.close()
    const [, , , database, schema] = await findings(variables)
    expect(database).toMatch(/^ok database: The database postgres on 127\.0\.0\.1:\d+ answers\.$/)
    expect(schema).toMatch(/^ok schema: The schema is version \d+, exactly as it was made\.$/)
  })

  it('that is not there says so without the password', async () => {
    const variables = {
      DECORUM_DATA: directory(),
      DATABASE_URL: 'postgres://me:s3cret@127.0.0.1:1/x',
    }
    const found = await findings(variables)
    expect(found).toContainEqual(expect.stringMatching(/^wrong database: .*ECONNREFUSED/))
    expect(found.join()).not.toContain('s3cret')
  })
})

describe('the doctor on Redis', () => {
  const redis = useRedis()

  it('has it answer, and says when nothing would use it', async () => {
    expect(await findings({ DECORUM_DATA: directory(), REDIS_URL: redis.url })).toContainEqual(
      `ok redis: Redis at ${redis.url}/0 answers. Nothing uses it as long as DATABASE_URL is not set.`,
    )
  })

  it('that is not there says so without the password', async () => {
    const variables = { DECORUM_DATA: directory(), REDIS_URL: 'redis://:s3cret@127.0.0.1:1' }
    const found = await findings(variables)
    expect(found).toContainEqual(
      expect.stringMatching(/^wrong redis: Redis at redis:\/\/127\.0\.0\.1:1\/0 is away/),
    )
    expect(found.join()).not.toContain('s3cret')
  })
})

async function findings(variables: Record<string, string>): Promise<string[]> {
  return (await examine(variables)).map(
    ({ check, isWrong, message }) => `${isWrong ? 'wrong' : 'ok'} ${check}: ${message}`,
  )
}

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), 'decorum-test-'))
  onTestFinished(() => rmSync(path, { recursive: true }))
  return path
}

/** A database as a service leaves it. */
async function made(): Promise<{ data: string; path: string }> {
  const data = directory()
  const path = join(data, 'decorum.db')
  await (await openSqliteStore({ path, clock: systemClock })).close()
  return { data, path }
}
