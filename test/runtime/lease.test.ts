import { expect, it } from 'vitest'
import { TypedEvents } from '../../src/actors/typed-events.ts'
import { Lease } from '../../src/runtime/lease.ts'
import type { RuntimeEventMap } from '../../src/runtime/runtime-events.ts'
import type { NodeRegistry } from '../../src/runtime/store/job-store.ts'
import { gate, START_AT, TurningClock } from './test-runtime.ts'

const nothing = { requeued: 0, dead: [], cancelled: 0 }
const turn = () => new Promise((done) => setImmediate(done))

function leaseOf(registry: Partial<NodeRegistry> = {}) {
  const clock = new TurningClock(START_AT)
  const happened: string[] = []
  const at = () => `${(clock.now() - START_AT) / 1_000}s`
  const events = new TypedEvents<RuntimeEventMap>(() => {})
  events.on('node.leaseLost', ({ reason }) => happened.push(`${at()} lost: ${reason}`))
  events.on('node.enlisted', ({ epoch }) => happened.push(`${at()} enlisted ${epoch}`))
  let epoch = 0
  const lease = new Lease({
    clock,
    events,
    node: { id: 'a', role: 'all', address: null, version: '0' },
    registry: {
      enlist: async () => ({ epoch: ++epoch, recovered: nothing }),
      beat: async () => 'renewed',
      leave: async (_: string, left: number) => void happened.push(`${at()} left ${left}`),
      ...registry,
    } as NodeRegistry,
    duties: { clock, onFailed: () => {}, onRecovered: () => {} },
    leaseMs: 30_000,
    loseAll: () => happened.push(`${at()} dropped`),
    onEnlisted: () => {},
  })
  const pass = async (ms: number) => {
    for (const end = clock.now() + ms; clock.now() < end; ) {
      clock.advance(Math.min(100, end - clock.now()))
      await turn()
    }
  }
  return { lease, clock, happened, pass }
}

it('is renewed for as long as it is wanted', async () => {
  const { lease, happened, pass } = leaseOf()
  await lease.begin()
  await pass(120_000)
  expect(lease.epoch).toBe(1)
  await lease.end()
  expect(lease.epoch).toBeUndefined()
  expect(happened).toEqual(['0s enlisted 1', '120s left 1'])
})

it('that cannot be renewed is given up after two thirds, and taken anew when the store is back', async () => {
  let isAway = false
  const { lease, happened, pass } = leaseOf({
    beat: async () => {
      if (isAway) throw new Error('away')
      return 'renewed'
    },
    enlist: async () => {
      if (isAway) throw new Error('away')
      return { epoch: 7, recovered: nothing }
    },
  })
  await lease.begin()
  await turn()
  isAway = true
  await pass(19_900)
  expect(lease.epoch).toBe(7)
  await pass(200)
  expect(lease.epoch).toBeUndefined()
  isAway = false
  await pass(10_000)
  expect(lease.epoch).toBe(7)
  expect(happened.filter((line) => line.includes('lost'))).toEqual([
    '20s lost: the lease could not be renewed in time',
  ])
})

it('is given up in time also when the store never answers', async () => {
  const answer = gate<'renewed' | 'lost'>()
  let beats = 0
  const { lease, happened, pass } = leaseOf({
    beat: () => (++beats === 2 ? answer.promise : Promise.resolve('renewed')),
  })
  await lease.begin()
  await pass(25_000)
  expect(lease.epoch).toBeUndefined()
  answer.open('lost')
  await pass(1_000)
  // Once lost is lost: the late answer says nothing new.
  expect(happened.map((line) => line.slice(line.indexOf(' ') + 1))).toEqual([
    'enlisted 1',
    'dropped',
    'lost: the lease could not be renewed in time',
    'enlisted 2',
  ])
  expect(lease.epoch).toBe(2)
})

it('that others took over is dropped at once, and the node enlists again', async () => {
  let isLost = false
  const { lease, happened, pass } = leaseOf({ beat: async () => (isLost ? 'lost' : 'renewed') })
  await lease.begin()
  await turn()
  isLost = true
  await pass(9_900)
  expect(lease.epoch).toBe(1)
  await pass(100)
  isLost = false
  await pass(1_000)
  expect(happened).toContain('10s dropped')
  expect(lease.epoch).toBe(2)
})

it('the first time a store that refuses is the caller’s business', async () => {
  const { lease } = leaseOf({ enlist: () => Promise.reject(new Error('refused')) })
  await expect(lease.begin()).rejects.toThrow('refused')
})

it('ends although the store is away, and leaves no timer behind', async () => {
  const { lease, clock } = leaseOf({ leave: () => Promise.reject(new Error('away')) })
  await lease.begin()
  await turn()
  await lease.end()
  expect(clock.advanceToNext()).toBe(false)
})
