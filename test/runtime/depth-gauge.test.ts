import { expect, it } from 'vitest'
import { VirtualClock } from '../../src/actors/virtual-clock.ts'
import { QueueFull } from '../../src/jobs/submission.ts'
import { DepthGauge } from '../../src/runtime/depth-gauge.ts'
import type { JobCounts } from '../../src/runtime/store/job-store.ts'
import { testRuntime } from './test-runtime.ts'

function gaugeOf(depthMax: number) {
  const clock = new VirtualClock(1_000_000)
  const queue = { queued: 0, scheduled: 0, counts: 0 }
  const gauge = new DepthGauge({
    clock,
    depthMax,
    desk: {
      counts: async () => {
        queue.counts++
        await Promise.resolve()
        return { live: { ...queue, running: 99 } } as unknown as JobCounts
      },
    },
  })
  return { clock, queue, gauge }
}

it('counts only when the queue may be full', async () => {
  const { gauge, queue } = gaugeOf(10)
  for (let job = 0; job < 10; job++) await gauge.assertRoomFor(1)
  expect(queue.counts).toBe(1)
})

it('many who ask at once are one count', async () => {
  const { gauge, queue } = gaugeOf(1_000)
  await Promise.all(Array.from({ length: 500 }, () => gauge.assertRoomFor(1)))
  expect(queue.counts).toBe(1)
})

it('refuses what would not fit, says when to come again, and takes it when there is room', async () => {
  const { gauge, queue, clock } = gaugeOf(10)
  Object.assign(queue, { queued: 5, scheduled: 4 })
  await gauge.assertRoomFor(1)
  const refused = await gauge.assertRoomFor(1).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(QueueFull)
  expect((refused as QueueFull).retryAfterMs).toBeGreaterThan(0)
  Object.assign(queue, { queued: 0, scheduled: 0 })
  clock.advance(1_000)
  await gauge.assertRoomFor(10)
})

it('a full queue refuses submissions, all of a batch or none', async () => {
  const node = await testRuntime([{ type: 'it', version: '1', run: () => null }], {
    limits: { depthMax: 3 },
  })
  await node.runtime.submitMany([{ type: 'it' }, { type: 'it' }])
  node.clock.advance(1_000)
  await expect(node.runtime.submitMany([{ type: 'it' }, { type: 'it' }])).rejects.toThrow(QueueFull)
  expect((await node.runtime.stats()).live.queued).toBe(2)
  await node.submit('it')
})
