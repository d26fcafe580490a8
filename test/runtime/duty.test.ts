import { expect, it } from 'vitest'
import { Duty } from '../../src/runtime/duty.ts'
import { gate, START_AT, TurningClock } from './test-runtime.ts'

const settled = () => new Promise((done) => setImmediate(done))

// biome-ignore lint/suspicious/noConfusingVoidType: as a duty has it.
function dutyOf(work: (run: number) => Promise<number | void> | number | void, everyMs = 1_000) {
  const clock = new TurningClock(START_AT)
  const runs: number[] = []
  const failed: number[] = []
  const recovered: string[] = []
  const duty = new Duty(
    {
      name: 'sweeper',
      everyMs,
      runOnce: async (at) => {
        runs.push(at - START_AT)
        return work(runs.length)
      },
    },
    {
      clock,
      onFailed: (_, __, failures) => failed.push(failures),
      onRecovered: (name) => recovered.push(name),
    },
  )
  const pass = async (ms: number) => {
    for (const end = clock.now() + ms; clock.now() < end; ) {
      clock.advance(Math.min(50, end - clock.now()))
      await settled()
    }
  }
  return { duty, runs, failed, recovered, pass }
}

it('runs at once and then at its interval', async () => {
  const { duty, runs, pass } = dutyOf(() => {})
  duty.start()
  await settled()
  await pass(3_000)
  expect(runs).toEqual([0, 1_000, 2_000, 3_000])
})

it('runs earlier when it asks for it or is woken, never later', async () => {
  const { duty, runs, pass } = dutyOf((run) => (run === 1 ? 200 : 5_000))
  duty.start()
  await settled()
  await pass(250)
  duty.wake()
  await settled()
  duty.wakeIn(400)
  duty.wakeIn(800)
  await pass(1_500)
  expect(runs).toEqual([0, 200, 250, 650, 1_650])
})

it('woken while it runs, it runs once more and never twice at a time', async () => {
  const [first, second] = [gate(), gate()]
  const { duty, runs } = dutyOf((run) => [first.promise, second.promise][run - 1])
  duty.start()
  duty.wake()
  duty.wake()
  await settled()
  expect(runs).toHaveLength(1)
  first.open()
  await settled()
  expect(runs).toHaveLength(2)
  second.open()
  await settled()
  expect(runs).toHaveLength(2)
})

it('a failure is told and tried again after growing pauses, however often it is woken', async () => {
  const { duty, runs, failed, recovered, pass } = dutyOf((run) => {
    if (run <= 3) throw new Error('away')
  })
  duty.start()
  await settled()
  for (let woken = 0; woken < 10; woken++) duty.wake()
  await settled()
  expect(runs).toEqual([0])
  await pass(750)
  expect(runs).toEqual([0, 100, 300, 700])
  expect(failed).toEqual([1, 2, 3])
  expect(recovered).toEqual(['sweeper'])
})

it('stopping waits for what is under way, and nothing runs afterwards', async () => {
  const halt = gate()
  const { duty, runs, pass } = dutyOf(() => halt.promise)
  duty.start()
  duty.wake()
  let isStopped = false
  const stopped = duty.stop().then(() => {
    isStopped = true
  })
  await settled()
  expect(isStopped).toBe(false)
  halt.open()
  await stopped
  duty.wake()
  duty.wakeIn(10)
  await pass(5_000)
  expect(runs).toHaveLength(1)
})

it('stopped while it failed and started again, it runs', async () => {
  const { duty, runs } = dutyOf((run) => {
    if (run === 1) throw new Error('away')
  })
  duty.start()
  await settled()
  await duty.stop()
  duty.start()
  await settled()
  expect(runs).toHaveLength(2)
})

it('needs an interval', () => {
  expect(() => dutyOf(() => {}, 0)).toThrow(/interval/)
  expect(() => dutyOf(() => {}, Number.NaN)).toThrow(/interval/)
})
