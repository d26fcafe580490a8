import { describe, expect, it } from 'vitest'
import { entriesOf } from './history.ts'
import { onServers, onSqlite, type Theatre } from './places.ts'
import { type LifePlan, type Scene, several } from './scene.ts'

describe.concurrent('killed on SQLite', () => claims(onSqlite))
describe('on servers of its own', () => {
  const theatre = onServers()
  describe.concurrent('killed on PostgreSQL and Redis', () => claims(theatre))
})

function claims(theatre: Theatre): void {
  it('right after a claim: what had not begun runs once, in its next life', async (test) => {
    const scene = await theatre.scene(test)
    const submissions = [...several(3, 'plain'), ...several(2, 'three.steps')]
    await killedAndFinished(scene, { strike: { point: 'after claim' }, submissions })
    const jobs = await scene.verdict()
    expect(jobs.map(({ state }) => state)).toEqual(Array(5).fill('done'))
    expect(scene.calls()).toEqual({
      'plain run': 3,
      ...{ 'three.steps first': 2, 'three.steps second': 2, 'three.steps third': 2 },
    })
    expect(Math.max(...jobs.map(({ crashes }) => crashes))).toBe(1)
  })

  it('in the third step: the first and the second are not repeated', async (test) => {
    const scene = await theatre.scene(test)
    const submissions = several(1, 'three.steps')
    await killedAndFinished(scene, { strike: { point: 'in third' }, submissions })
    const [job] = await scene.verdict()
    expect(job).toMatchObject({ state: 'done', attempt: 2, crashes: 1, fence: 2 })
    expect(scene.calls()).toEqual({
      ...{ 'three.steps first': 1, 'three.steps second': 1, 'three.steps third': 2 },
    })
  })

  it('after a checkpoint: the handler gets it back', async (test) => {
    const scene = await theatre.scene(test)
    const submissions = several(1, 'checkpoints')
    await killedAndFinished(scene, { strike: { point: 'after checkpoint' }, submissions })
    const [job] = await scene.verdict()
    expect(job).toMatchObject({ state: 'done', attempt: 2, result: '{"page":7}' })
    const calls = entriesOf(scene.history, 'called')
    expect(calls.map(({ given }) => given)).toEqual([null, { page: 7 }])
  })

  it('before the answer was sent: the work is repeated, and ends once', async (test) => {
    const scene = await theatre.scene(test)
    const submissions = [...several(3, 'plain'), ...several(1, 'three.steps')]
    await killedAndFinished(scene, { strike: { point: 'before settle' }, submissions })
    const jobs = await scene.verdict()
    expect(jobs.map(({ state }) => state)).toEqual(Array(4).fill('done'))
    const ends = entriesOf(scene.history, 'settled').map(({ life, verdict }) => ({ life, verdict }))
    expect(ends).toEqual(Array(4).fill({ life: 2, verdict: 'settled' }))
  })

  it('after the answer was committed: nothing is repeated', async (test) => {
    const scene = await theatre.scene(test)
    const submissions = several(1, 'plain', { n: 1 })
    await killedAndFinished(scene, { strike: { point: 'after settle' }, submissions })
    const [job] = await scene.verdict()
    expect(job).toMatchObject({ state: 'done', attempt: 1, crashes: 0, result: '{"n":1}' })
    expect(scene.calls()).toEqual({ 'plain run': 1 })
    expect(entriesOf(scene.history, 'settled')).toEqual([])
  })

  it('inside the relay’s transaction: every row becomes one job', async (test) => {
    const scene = await theatre.scene(test)
    await post(scene, 5)
    await killedAndFinished(scene, { strike: { point: 'in relay', nth: 3 } })
    expect(await scene.verdict()).toHaveLength(5)
    expect(scene.calls()).toEqual({ 'plain run': 5 })
  })

  it('right after the relay committed: no row becomes a second job', async (test) => {
    const scene = await theatre.scene(test)
    await post(scene, 5)
    await killedAndFinished(scene, { strike: { point: 'after relay' } })
    expect(await scene.verdict()).toHaveLength(5)
    expect(scene.calls()).toEqual({ 'plain run': 5 })
  })

  it('while snapshots are written: no step began that was not safe', async (test) => {
    const scene = await theatre.scene(test)
    const submissions = several(4, 'three.steps')
    await killedAndFinished(scene, { strike: { point: 'in snapshot write', nth: 3 }, submissions })
    const jobs = await scene.verdict()
    expect(jobs.map(({ state }) => state)).toEqual(Array(4).fill('done'))
    const begun = entriesOf(scene.history, 'called').filter(({ life }) => life === 1)
    expect(begun.map(({ state }) => state)).toEqual(Array(4).fill('first'))
  })
}

/** A life that ends at the point, and a second one that finishes everything. */
async function killedAndFinished(scene: Scene, plan: LifePlan): Promise<void> {
  const first = scene.start('a', plan)
  await first.writes('struck')
  expect(await first.over).toBe('SIGKILL')
  const second = scene.start('a')
  await second.writes('idle')
  await second.stop()
}

/** Rows of a stranger, in a transaction of his own. */
async function post(scene: Scene, count: number): Promise<void> {
  const keys = Array.from({ length: count }, (_, index) => `posted ${index}`)
  // The tables are made by whoever opens the store first.
  await scene.visit(async () => {})
  await scene.asStranger(
    keys.map((key) => `INSERT INTO outbox (type, body, key) VALUES ('plain', 'null', '${key}')`),
  )
  scene.note(...keys.map((key) => ({ what: 'posted' as const, key })))
}
