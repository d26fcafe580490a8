import { describe, it } from 'vitest'
import { onServers, onSqlite, type Theatre } from './places.ts'
import { type LifePlan, type Scene, several } from './scene.ts'

describe.concurrent('on SQLite', () => claims(onSqlite))
describe('on servers of its own', () => {
  const theatre = onServers()
  describe.concurrent('on PostgreSQL and Redis', () => claims(theatre))
})

function claims(theatre: Theatre): void {
  it('a handler that ends its process is dead after three crashes, its neighbours are unharmed', async (test) => {
    const { expect } = test
    const scene = await theatre.scene(test)
    const submissions = [
      ...several(6, 'neighbour'),
      ...several(1, 'exits'),
      ...several(6, 'lingers'),
      ...several(2, 'three.steps'),
    ]
    const deaths = await liveUntilDone(scene, { submissions })
    expect(deaths).toEqual([7, 7, 7])
    const jobs = await scene.verdict()
    const [poison, ...neighbours] = jobs.toSorted((a, b) => b.crashes - a.crashes)
    expect(poison).toMatchObject({ type: 'exits', state: 'dead', crashes: 3, attempt: 3 })
    expect(poison?.error?.code).toBe('job.poison')
    expect(neighbours.map(({ state }) => state)).toEqual(Array(14).fill('done'))
    // Without that the scenario would have proved nothing.
    expect(neighbours.filter(({ crashes }) => crashes === 2)).not.toEqual([])
  })

  it('a handler that eats all memory is dead after three crashes, and nobody else', async (test) => {
    const { expect } = test
    const scene = await theatre.scene(test)
    const submissions = [...several(1, 'devours'), ...several(5, 'plain')]
    const deaths = await liveUntilDone(scene, { submissions, heapMbMax: 64 })
    expect(deaths).toHaveLength(3)
    const jobs = await scene.verdict()
    const states = jobs.map(({ type, state }) => `${type} ${state}`).sort()
    expect(states).toEqual(['devours dead', ...Array(5).fill('plain done')])
  })

  it('handlers that throw or hang use up their attempts, and nobody waits for them', async (test) => {
    const { expect } = test
    const scene = await theatre.scene(test)
    const submissions = [
      ...several(2, 'throws'),
      ...several(2, 'hangs'),
      ...several(2, 'rejects'),
      ...several(2, 'skips'),
      ...several(2, 'second.try'),
      ...several(2, 'waits.once'),
      ...several(10, 'plain'),
    ]
    const deaths = await liveUntilDone(scene, { submissions, limits: { concurrency: 4 } })
    expect(deaths).toEqual([])
    const ends = new Map((await scene.verdict()).map((job) => [job.type, job]))
    expect(ends.get('throws')).toMatchObject({ state: 'dead', attempt: 3 })
    expect(ends.get('throws')?.error?.message).toBe('as always')
    expect(ends.get('hangs')).toMatchObject({ state: 'dead', attempt: 2 })
    expect(ends.get('hangs')?.error?.code).toBe('ATTEMPT_TIMED_OUT')
    expect(ends.get('rejects')).toMatchObject({ state: 'failed', attempt: 1 })
    expect(ends.get('skips')).toMatchObject({ state: 'skipped', attempt: 1 })
    expect(ends.get('second.try')).toMatchObject({ state: 'done', attempt: 2 })
    expect(ends.get('waits.once')).toMatchObject({ state: 'done', attempt: 1, result: '"waited"' })
    expect(scene.calls()).toMatchObject({ 'throws run': 6, 'hangs run': 4, 'plain run': 10 })
  })
}

const LIVES_MAX = 8

/** Starts the node again whenever it has died; tells what each of its lives died of. */
async function liveUntilDone(
  scene: Scene,
  { submissions = [], ...plan }: LifePlan,
): Promise<(number | string)[]> {
  const deaths: (number | string)[] = []
  while (deaths.length < LIVES_MAX) {
    const life = scene.start('a', deaths.length === 0 ? { ...plan, submissions } : plan)
    const isDone = await life.writes('idle').then(
      () => true,
      () => false,
    )
    if (isDone) {
      await life.stop()
      break
    }
    deaths.push(await life.over)
  }
  return deaths
}
