/**
 * Jobs of every kind on nodes that are killed at random moments. The moments follow from a seed that
 * is printed, as far as they can: how far a process has got by then is its own affair.
 * `CHAOS_SEED=<number>` repeats one.
 */
import { randomInt } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { entriesOf } from './history.ts'
import type { KeyedSubmission } from './node-program.ts'
import { onServers, onSqlite, type Theatre } from './places.ts'
import type { Life, Scene } from './scene.ts'

const JOBS = 500
const KILLS_PER_NODE = 5
// Few claimed ahead: each of them counts a crash, and suspects run one at a time.
const limits = { concurrency: 20, prefetch: 5 }

describe.concurrent('killed again and again', () => {
  const servers = onServers()
  it('one node on SQLite finishes everything', (test) => survives(onSqlite, ['a'], test))
  it('two nodes on PostgreSQL and Redis finish everything', (test) =>
    survives(servers, ['a', 'b'], test))
}, 60_000)

async function survives(
  theatre: Theatre,
  nodes: readonly string[],
  test: Parameters<Theatre['scene']>[0],
): Promise<void> {
  const seed = Number(process.env.CHAOS_SEED ?? randomInt(2 ** 31))
  process.stderr.write(`random kills on ${theatre.name}: CHAOS_SEED=${seed}\n`)
  const random = generator(seed)
  const scene = await theatre.scene(test)
  const submissions = mixedJobs(random)
  const shareOf = (node: string) =>
    submissions.filter((_, index) => nodes[index % nodes.length] === node)

  const lives = new Map<string, Life>()
  const revive = (node: string) => {
    const left = notAccepted(scene, shareOf(node))
    lives.set(node, scene.start(node, { limits, submissions: left }))
  }
  let from = 0
  for (const node of nodes) revive(node)
  for (let kills = 0; kills < KILLS_PER_NODE * nodes.length; kills++) {
    const enough = from + 20 + Math.floor(random() * 300)
    // On a slow machine everything may be done before the last kill; then it hits one at rest.
    await scene.until(() => {
      const { history } = scene
      return history.length >= enough || history.slice(from).some(({ what }) => what === 'idle')
    })
    from = scene.history.length
    const node = nodes[kills % nodes.length]!
    lives.get(node)?.signal('SIGKILL')
    expect(await lives.get(node)?.over).toBe('SIGKILL')
    revive(node)
  }
  await scene.until(() => notAccepted(scene, submissions).length === 0)
  await scene.untilDrained()
  await Promise.all([...lives.values()].map((life) => life.stop()))

  const jobs = await scene.verdict()
  expect(jobs).toHaveLength(JOBS)
  // Without these the run would have proved nothing.
  expect(jobs.filter(({ crashes }) => crashes > 0)).not.toEqual([])
  expect(entriesOf(scene.history, 'claimed').length).toBeGreaterThan(JOBS)
  expect(new Set(jobs.map(({ state }) => state))).toEqual(
    new Set(['done', 'skipped', 'failed', 'dead']),
  )
}

const kinds = [
  ...['plain', 'three.steps', 'three.steps', 'checkpoints', 'lingers', 'lingers'],
  ...['second.try', 'waits.once', 'skips', 'rejects', 'throws'],
]

function mixedJobs(random: () => number): KeyedSubmission[] {
  return Array.from({ length: JOBS }, (_, index) => ({
    type: kinds[Math.floor(random() * kinds.length)]!,
    body: null,
    key: `job ${index}`,
    domain: `host-${Math.floor(random() * 5)}.example`,
    priority: Math.floor(random() * 3),
  }))
}

/** Handed in again under their keys: some may have arrived without an answer. */
function notAccepted(scene: Scene, submissions: readonly KeyedSubmission[]): KeyedSubmission[] {
  const accepted = new Set(entriesOf(scene.history, 'accepted').map(({ key }) => key))
  return submissions.filter(({ key }) => !accepted.has(key))
}

/** Numbers in [0, 1) that follow from the seed: the generator known as mulberry32. */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), 1 | state)
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }
}
