import { expect, it } from 'vitest'
import { TypedEvents } from '../../src/actors/typed-events.ts'
import { VirtualClock } from '../../src/actors/virtual-clock.ts'
import { throughputOf } from '../../src/http/throughput.ts'
import type { RuntimeEventMap, SettledAs } from '../../src/runtime/runtime-events.ts'

it('counts the jobs that ended within the last minute, and not those that go on', () => {
  const clock = new VirtualClock(1_000_000)
  const events = new TypedEvents<RuntimeEventMap>(() => {})
  const throughput = throughputOf(events, clock)
  const settle = (as: SettledAs) =>
    events.emit('job.settled', () => ({
      id: 'j',
      type: 't',
      domain: '',
      attempt: 1,
      fence: 1,
      at: clock.now(),
      as,
      error: null,
    }))
  for (const as of ['done', 'failed', 'cancelled', 'requeued', 'parked'] as const) settle(as)
  expect(throughput.endedLastMinute).toBe(3)
  clock.advance(30_000)
  settle('done')
  expect(throughput.endedLastMinute).toBe(4)
  clock.advance(29_999)
  expect(throughput.endedLastMinute).toBe(4)
  clock.advance(1)
  expect(throughput.endedLastMinute).toBe(1)
  clock.advance(3_600_000)
  expect(throughput.endedLastMinute).toBe(0)
  settle('done')
  expect(throughput.endedLastMinute).toBe(1)
})
