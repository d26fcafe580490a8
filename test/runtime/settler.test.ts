import { expect, it } from 'vitest'
import { TypedEvents } from '../../src/actors/typed-events.ts'
import { Settler } from '../../src/runtime/settler.ts'
import {
  type JobQueue,
  type Settlement,
  type SettleVerdict,
  StoreUnavailable,
} from '../../src/runtime/store/job-store.ts'
import { START_AT, TurningClock } from './test-runtime.ts'

const turn = () => new Promise((done) => setImmediate(done))
const away = () => new StoreUnavailable('database.away', 'It is away.')

function settlerOf(settle: (batch: readonly Settlement[], call: number) => SettleVerdict[]) {
  const clock = new TurningClock(START_AT)
  const batches: string[][] = []
  const calls: number[] = []
  const queue = {
    settle: async (_: string, batch: readonly Settlement[]) => {
      batches.push(batch.map(({ id }) => id))
      calls.push(clock.now() - START_AT)
      return settle(batch, batches.length)
    },
  } as unknown as JobQueue
  const settler = new Settler({ clock, queue, nodeId: 'a', events: new TypedEvents(() => {}) })
  const answers: Record<string, SettleVerdict> = {}
  const tell = (id: string) =>
    settler.settle({ id, fence: 1, kind: 'cancelled' }, (verdict) => {
      answers[id] = verdict
    })
  const forward = async (isSo: () => boolean) => {
    for (let steps = 0; !isSo() && steps < 1_000; steps++) {
      for (let turns = 0; turns < 4; turns++) await turn()
      if (!isSo()) clock.advanceToNext()
    }
  }
  return { settler, tell, answers, batches, calls, forward, clock }
}

const settled = (batch: readonly Settlement[]) => batch.map((): SettleVerdict => 'settled')

it('what is told in one turn goes in one batch, and each gets its own answer', async () => {
  const { tell, answers, batches, forward } = settlerOf(() => ['settled', 'lost', 'overtaken'])
  for (const id of ['a', 'b', 'c']) tell(id)
  await forward(() => 'c' in answers)
  expect(batches).toEqual([['a', 'b', 'c']])
  expect(answers).toEqual({ a: 'settled', b: 'lost', c: 'overtaken' })
})

it('while the store is away it repeats, with growing pauses, for as long as it takes', async () => {
  const { tell, answers, calls, forward } = settlerOf((batch, call) => {
    if (call <= 8) throw away()
    return settled(batch)
  })
  tell('a')
  await forward(() => 'a' in answers)
  const pauses = calls.slice(1).map((at, index) => at - calls[index]!)
  expect(pauses).toEqual([100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000])
})

it('one that the store does not take is given up by itself', async () => {
  const { tell, answers, forward } = settlerOf((batch) => {
    if (batch.some(({ id }) => id === 'bad')) throw new Error('constraint failed')
    return settled(batch)
  })
  for (const id of ['a', 'bad', 'c']) tell(id)
  await forward(() => Object.keys(answers).length === 3)
  expect(answers).toEqual({ a: 'settled', bad: 'lost', c: 'settled' })
})

it('closed, it repeats nothing more and is idle', async () => {
  const { settler, tell, answers, forward } = settlerOf(() => {
    throw away()
  })
  tell('a')
  let isIdle = false
  settler.idle().then(() => {
    isIdle = true
  })
  await turn()
  settler.close()
  await forward(() => isIdle)
  expect(isIdle).toBe(true)
  expect(answers).toEqual({})
})
