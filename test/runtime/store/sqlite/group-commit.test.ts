import type { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { VirtualClock } from '../../../../src/actors/virtual-clock.ts'
import { StoreUnavailable } from '../../../../src/runtime/store/job-store.ts'
import { GroupCommit } from '../../../../src/runtime/store/sqlite/group-commit.ts'
import { openSqliteDatabase } from '../../../../src/runtime/store/sqlite/sqlite-database.ts'

let database: DatabaseSync
let clock: VirtualClock
let group: GroupCommit
beforeEach(() => {
  database = openSqliteDatabase(':memory:')
  database.exec('CREATE TABLE words (word TEXT NOT NULL UNIQUE) STRICT')
  clock = new VirtualClock()
  group = new GroupCommit({ database, clock })
})
afterEach(() => database.close())

const say = (word: string | null) => () => {
  database.prepare('INSERT INTO words VALUES (?)').run(word)
  return word
}

const said = () =>
  database
    .prepare('SELECT word FROM words ORDER BY rowid')
    .all()
    .map(({ word }) => word)

describe('writes asked for in one turn', () => {
  it('happen in their order, in one transaction, when the turn comes', async () => {
    const exec = vi.spyOn(database, 'exec')
    const answers = Promise.all(['a', 'b', 'c'].map((word) => group.run(say(word))))
    expect(said()).toEqual([])
    clock.settle()
    expect(await answers).toEqual(['a', 'b', 'c'])
    expect(said()).toEqual(['a', 'b', 'c'])
    expect(exec.mock.calls.filter(([sql]) => sql === 'COMMIT')).toHaveLength(1)
  })

  it('are answered only after the commit', async () => {
    const events: string[] = []
    group = new GroupCommit({ database, clock, beforeCommit: () => void events.push('commit') })
    const answers = ['a', 'b'].map((word) => group.run(say(word)).then(() => events.push(word)))
    clock.settle()
    await Promise.all(answers)
    expect(events).toEqual(['commit', 'a', 'b'])
  })

  it('do not wait for those of the next turn', async () => {
    const first = group.run(say('a'))
    clock.settle()
    const second = group.run(say('b'))
    expect(await first).toBe('a')
    expect(said()).toEqual(['a'])
    clock.settle()
    await second
  })

  it('that ask for more while they run get it in the next', async () => {
    let more: Promise<unknown> | undefined
    const first = group.run(() => {
      more = group.run(say('more'))
    })
    clock.settle()
    await first
    await more
    expect(said()).toEqual(['more'])
  })
})

describe('a write that fails', () => {
  it('takes back what it did, and the others stand', async () => {
    const half = () => {
      say('half')()
      throw new Error('a mistake of ours')
    }
    const answers = Promise.allSettled([say('a'), half, say('b')].map((work) => group.run(work)))
    clock.settle()
    expect((await answers).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
    ])
    expect(said()).toEqual(['a', 'b'])
  })

  it('sees what those before it wrote, and those after it do not see it', async () => {
    const answers = Promise.allSettled(
      [say('a'), say('a'), say(null), say('b')].map((work) => group.run(work)),
    )
    clock.settle()
    const [, twice, empty] = await answers
    expect(String((twice as PromiseRejectedResult).reason)).toContain('UNIQUE constraint failed')
    expect(String((empty as PromiseRejectedResult).reason)).toContain('NOT NULL constraint failed')
    expect(said()).toEqual(['a', 'b'])
  })

  it('alone leaves nothing behind either, and the next ones go on', async () => {
    const alone = group.run(() => {
      say('half')()
      throw new Error('a mistake of ours')
    })
    clock.settle()
    await expect(alone).rejects.toThrow('a mistake of ours')
    const next = group.run(say('next'))
    clock.settle()
    expect(await next).toBe('next')
    expect(said()).toEqual(['next'])
  })
})

describe('a commit that fails', () => {
  it('rejects all, and none has happened', async () => {
    const refusal = new StoreUnavailable('database.away', 'gone')
    let isGone = true
    const beforeCommit = () => {
      if (isGone) throw refusal
    }
    group = new GroupCommit({ database, clock, beforeCommit })
    const answers = Promise.allSettled(['a', 'b'].map((word) => group.run(say(word))))
    clock.settle()
    expect(await answers).toEqual([
      { status: 'rejected', reason: refusal },
      { status: 'rejected', reason: refusal },
    ])
    expect(said()).toEqual([])
    isGone = false
    const again = group.run(say('a'))
    clock.settle()
    expect(await again).toBe('a')
  })

  it('because another has the file rejects all as busy', async () => {
    database.exec('BEGIN')
    const answer = group.run(say('a'))
    vi.spyOn(database, 'exec').mockImplementationOnce(() => {
      throw Object.assign(new Error('database is locked'), { errcode: 5 })
    })
    clock.settle()
    await expect(answer).rejects.toMatchObject({ code: 'database.busy' })
  })
})

it('after the database was closed nothing is taken, and nobody waits', async () => {
  database.close()
  await expect(group.run(say('a'))).rejects.toMatchObject({ code: 'database.away' })
  database = openSqliteDatabase(':memory:')
})
