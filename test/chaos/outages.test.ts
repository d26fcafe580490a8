import { Redis } from 'ioredis'
import { describe, it } from 'vitest'
import { usePostgres, useRedis } from '../provision/use-server.ts'
import { entriesOf } from './history.ts'
import { onSqlite, opened, serverPlace } from './places.ts'
import { type Scene, several } from './scene.ts'

/** Short, so that a lease can end in a scenario; long enough for a busy machine to renew it. */
const leaseMs = 1_200

describe('a node that is stopped for longer than its lease', () => {
  const postgres = usePostgres()
  const redis = useRedis()

  it('finds its jobs taken over, and cannot write any more', async (test) => {
    const { expect } = test
    const scene = opened(await serverPlace(postgres, redis), test)
    const sleeper = scene.start('a', {
      limits: { leaseMs },
      strike: { point: 'before settle', signal: 'SIGSTOP' },
      submissions: several(3, 'plain'),
    })
    await sleeper.writes('struck')
    await leaseOver(scene)
    const heir = scene.start('b', { limits: { leaseMs } })
    await heir.writes('idle')
    sleeper.signal('SIGCONT')
    await sleeper.writes('settled')
    await sleeper.writes('told', ({ event }) => event === 'node.leaseLost')
    await Promise.all([sleeper.stop(), heir.stop()])

    const jobs = await scene.verdict()
    expect(jobs.map(({ state, nodeId, fence }) => ({ state, nodeId, fence }))).toEqual(
      Array(3).fill({ state: 'done', nodeId: 'b', fence: 2 }),
    )
    const verdicts = entriesOf(scene.history, 'settled').map(({ node, fence, verdict }) => ({
      ...{ node, fence, verdict },
    }))
    expect(verdicts).toEqual([
      ...Array(3).fill({ node: 'b', fence: 2, verdict: 'settled' }),
      ...Array(3).fill({ node: 'a', fence: 1, verdict: 'lost' }),
    ])
  })
})

it('a lone node that slept through its lease takes its jobs up again', async (test) => {
  const scene = await onSqlite.scene(test)
  const node = scene.start('a', { limits: { leaseMs }, submissions: several(3, 'held') })
  await untilHeld(scene, { 'held run': 3 })
  await leaseOver(scene, () => node.signal('SIGSTOP'))
  node.signal('SIGCONT')
  await node.writes('told', ({ event }) => event === 'node.leaseLost')
  node.tell({ order: 'release' })
  await node.writes('idle')
  await node.stop()
  const jobs = await scene.verdict()
  test
    .expect(jobs.map(({ state, fence }) => ({ state, fence })))
    .toEqual(Array(3).fill({ state: 'done', fence: 2 }))
})

describe('PostgreSQL that is killed and comes back', () => {
  const postgres = usePostgres()
  const redis = useRedis()

  it('within the lease: what runs is finished as if nothing had happened', async (test) => {
    const { expect } = test
    const scene = opened(await serverPlace(postgres, redis), test)
    const held = [...several(3, 'held'), ...several(2, 'three.steps', { holdIn: 'third' })]
    const node = scene.start('a', { submissions: held })
    await untilHeld(scene, { 'held run': 3, 'three.steps third': 2 })
    await postgres.kill()
    node.tell({ order: 'release' })
    await node.writes('told', ({ event }) => event === 'duty.failed')
    await postgres.restart()
    await node.writes('idle')
    await node.stop()
    const jobs = await scene.verdict()
    expect(jobs.map(({ state, fence, crashes }) => ({ state, fence, crashes }))).toEqual(
      Array(5).fill({ state: 'done', fence: 1, crashes: 0 }),
    )
    expect(scene.calls()).toEqual({
      'held run': 3,
      ...{ 'three.steps first': 2, 'three.steps second': 2, 'three.steps third': 2 },
    })
  })

  it('after the lease was given up: what ran runs again, from where it stood', async (test) => {
    const { expect } = test
    const scene = opened(await serverPlace(postgres, redis), test)
    const held = [...several(2, 'held'), ...several(2, 'three.steps', { holdIn: 'third' })]
    const node = scene.start('a', { limits: { leaseMs }, submissions: held })
    await untilHeld(scene, { 'held run': 2, 'three.steps third': 2 })
    await postgres.kill()
    await node.writes('told', ({ event }) => event === 'node.leaseLost')
    await postgres.restart()
    await untilHeld(scene, { 'held run': 4, 'three.steps third': 4 })
    node.tell({ order: 'release' })
    await node.writes('idle')
    await node.stop()
    const jobs = await scene.verdict()
    expect(jobs.map(({ state }) => state)).toEqual(Array(4).fill('done'))
    expect(scene.calls()).toMatchObject({ 'three.steps first': 2, 'three.steps second': 2 })
  })
})

describe('Redis', () => {
  const postgres = usePostgres()
  const redis = useRedis()

  const flush = async () => {
    const client = new Redis(redis.url)
    await client.flushall()
    await client.quit()
  }

  it('flushed or restarted while jobs run: they finish, and nothing is repeated', async (test) => {
    const { expect } = test
    const scene = opened(await serverPlace(postgres, redis), test)
    const submissions = several(2, 'three.steps', { holdIn: 'second' })
    const node = scene.start('a', { submissions })
    await untilHeld(scene, { 'three.steps second': 2 })
    await flush()
    await redis.kill()
    await redis.restart()
    node.tell({ order: 'release' })
    await node.writes('idle')
    await node.stop()
    expect((await scene.verdict()).map(({ state }) => state)).toEqual(['done', 'done'])
    expect(scene.calls()).toEqual({
      ...{ 'three.steps first': 2, 'three.steps second': 2, 'three.steps third': 2 },
    })
  })

  it('flushed, and then the node is killed: steps are repeated, no job is lost', async (test) => {
    const { expect } = test
    const scene = opened(await serverPlace(postgres, redis), test)
    const submissions = several(2, 'three.steps', { holdIn: 'third' })
    const first = scene.start('a', { submissions })
    await untilHeld(scene, { 'three.steps third': 2 })
    await flush()
    first.signal('SIGKILL')
    await first.over
    const second = scene.start('a')
    second.tell({ order: 'release' })
    await second.writes('idle')
    await second.stop()
    const jobs = await scene.verdict({ isForgetful: true })
    expect(jobs.map(({ state }) => state)).toEqual(['done', 'done'])
    expect(scene.calls()).toEqual({
      ...{ 'three.steps first': 4, 'three.steps second': 4, 'three.steps third': 4 },
    })
  })

  it('away for good: jobs run without snapshots', async (test) => {
    const { expect } = test
    const scene = opened(await serverPlace(postgres, redis), test)
    await redis.kill()
    try {
      const submissions = [...several(2, 'three.steps'), ...several(2, 'checkpoints')]
      const node = scene.start('a', { submissions })
      await node.writes('idle')
      await node.stop()
    } finally {
      await redis.restart()
    }
    expect((await scene.verdict()).map(({ state }) => state)).toEqual(Array(4).fill('done'))
  })
})

/**
 * The lease of node a has ended, by the clock of the store. The store is opened before the node is
 * stopped: stopped in the middle of a transaction, it would keep everybody else from writing.
 */
async function leaseOver(scene: Scene, stop: () => void = () => {}): Promise<void> {
  await scene.visit(async (store) => {
    const isAlive = async () => (await store.nodes()).find(({ id }) => id === 'a')?.isAlive
    stop()
    while (await isAlive()) await new Promise((done) => setImmediate(done))
  })
}

/** So many calls have been made by now. */
async function untilHeld(scene: Scene, calls: Readonly<Record<string, number>>): Promise<void> {
  await scene.until(() => {
    const made = scene.calls()
    return Object.entries(calls).every(([name, count]) => (made[name] ?? 0) >= count)
  })
}
