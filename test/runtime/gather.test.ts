import { expect, it } from 'vitest'
import { VirtualClock } from '../../src/actors/virtual-clock.ts'
import { Gather } from '../../src/runtime/gather.ts'
import { gate } from './test-runtime.ts'

const settled = () => new Promise((done) => setImmediate(done))

function gatherOf(itemsMax = 10, flightsMax = 1) {
  const clock = new VirtualClock()
  const flights: { items: readonly number[]; land: () => void }[] = []
  const gather = new Gather<number>({
    clock,
    itemsMax,
    flightsMax,
    handle: async (items) => {
      const landing = gate()
      flights.push({ items, land: landing.open })
      await landing.promise
    },
  })
  const land = async (flight: number) => {
    flights[flight]?.land()
    await settled()
    clock.settle()
  }
  return { clock, gather, land, batches: () => flights.map(({ items }) => items) }
}

it('what comes during one turn goes together, and what comes meanwhile with the next', async () => {
  const { clock, gather, land, batches } = gatherOf()
  for (const item of [1, 2, 3]) gather.push(item)
  expect(batches()).toEqual([])
  clock.settle()
  for (const item of [4, 5]) gather.push(item)
  clock.settle()
  expect(batches()).toEqual([[1, 2, 3]])
  expect(gather.size).toBe(2)
  await land(0)
  expect(batches()).toEqual([
    [1, 2, 3],
    [4, 5],
  ])
})

it('no batch is larger, and no more are under way, than there may be', async () => {
  const { clock, gather, land, batches } = gatherOf(2, 2)
  for (let item = 1; item <= 7; item++) gather.push(item)
  clock.settle()
  expect(batches()).toEqual([
    [1, 2],
    [3, 4],
  ])
  await land(1)
  expect(batches()).toHaveLength(3)
  await land(0)
  await land(2)
  expect(batches()).toEqual([[1, 2], [3, 4], [5, 6], [7]])
})

it('is idle when nothing waits and nothing is under way', async () => {
  const { clock, gather, land } = gatherOf(1)
  await gather.idle()
  for (const item of [1, 2]) gather.push(item)
  let isIdle = false
  gather.idle().then(() => {
    isIdle = true
  })
  clock.settle()
  await land(0)
  expect(isIdle).toBe(false)
  await land(1)
  await settled()
  expect(isIdle).toBe(true)
})
