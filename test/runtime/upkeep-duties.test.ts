import { describe, expect, it } from 'vitest'
import type { AnyJob } from '../../src/jobs/define-job.ts'
import { ScheduleRefused } from '../../src/runtime/schedule.ts'
import type { JobStore, ScheduleCard } from '../../src/runtime/store/job-store.ts'
import { startedRuntime, testRuntime } from './test-runtime.ts'

function jobs() {
  const bodies: unknown[] = []
  const job: AnyJob = {
    type: 'it',
    version: '1',
    schema: { not: { const: 'bad' } },
    run: ({ body }) => void bodies.push(body),
  }
  return { job, bodies }
}

function schedule(name: string, more: Partial<ScheduleCard> = {}): ScheduleCard {
  return {
    name,
    cron: '*/10 * * * *',
    timeZone: 'UTC',
    type: 'it',
    body: JSON.stringify(name),
    domain: '',
    priority: 0,
    isPaused: false,
    ...more,
  }
}

describe('schedules', () => {
  it('fire once for each instant, and their jobs run', async () => {
    const { job, bodies } = jobs()
    const node = await startedRuntime([job])
    await node.runtime.putSchedule(schedule('a'))
    await node.pass(599_000)
    expect(bodies).toEqual([])
    await node.pass(2_000)
    expect(bodies).toEqual(['a'])
    await node.pass(600_000)
    expect(bodies).toEqual(['a', 'a'])
    expect(node.of('schedules.fired')).toHaveLength(2)
    expect(await node.runtime.removeSchedule('a')).toBe(true)
  })

  it('fire once on two nodes together', async () => {
    const { job, bodies } = jobs()
    const one = await startedRuntime([job])
    await startedRuntime([job], { nodeId: 'node-b' }, one)
    await one.runtime.putSchedule(schedule('a'))
    await one.pass(601_000)
    expect(bodies).toEqual(['a'])
  })

  it('that passed while nobody was there are one job, not many', async () => {
    const { job, bodies } = jobs()
    const node = await testRuntime([job])
    await node.runtime.putSchedule(schedule('a'))
    node.clock.advance(3_600_000 + 1_000)
    await node.runtime.start()
    await node.pass(3_000)
    expect(bodies).toEqual(['a'])
    expect((await node.runtime.schedules())[0]?.nextAt).toBeGreaterThan(node.clock.now())
  })

  it.each<[string, Partial<ScheduleCard>]>([
    ['cannot be read', { cron: 'whenever' }],
    ['has a zone nobody knows', { timeZone: 'Nowhere/City' }],
    ['has a body that is not JSON', { body: '{' }],
    ['has a body its type does not take', { body: '"bad"' }],
    ['is for a type that is not there', { type: 'other' }],
  ])('one that %s is refused when it is handed in', async (_, more) => {
    const node = await testRuntime([jobs().job])
    await expect(node.runtime.putSchedule(schedule('a', more))).rejects.toThrow(ScheduleRefused)
    expect(await node.runtime.schedules()).toEqual([])
  })

  it.each<[string, Partial<ScheduleCard>]>([
    ['whose type is gone', { type: 'other' }],
    ['whose body is spoilt', { body: '{' }],
    ['that can no longer be read', { cron: 'whenever' }],
    ['that never comes again', { cron: '2026-01-01T00:10:00' }],
  ])('one %s is reported and keeps no other', async (_, more) => {
    const { job, bodies } = jobs()
    const node = await startedRuntime([job])
    const at = node.clock.now() + 600_000
    await node.store.putSchedule(schedule('a', more), at)
    await node.runtime.putSchedule(schedule('b'))
    await node.pass(601_000)
    expect(bodies).toContain('b')
    expect(node.of('schedule.refused')).toMatchObject([{ name: 'a' }])
    expect(node.of('duty.failed')).toEqual([])
    await node.pass(600_000)
    expect(bodies.filter((body) => body === 'b')).toHaveLength(2)
  })
})

describe('the relay', () => {
  it('runs what others wrote, and tells what it had to refuse', async () => {
    const { job, bodies } = jobs()
    const node = await startedRuntime([job])
    const task = { groupId: 'g', type: 'it', domain: '', priority: 0 }
    await node.runtime.tasks.put([
      { ...task, id: 'one', body: '1' },
      { ...task, id: 'bad', body: '"bad"' },
      { ...task, id: 'two', body: '2' },
      { ...task, id: 'other', body: '3', type: 'other' },
    ])
    await node.runtime.tasks.queue('g', 10)
    await node.forwardUntil(() => bodies.length === 2, 'they ran')
    expect([...bodies].sort()).toEqual([1, 2])
    expect(node.of('outbox.relayed')).toMatchObject([{ moved: 2, refused: 2 }])
  })

  it('is not stopped by a row over which a schema stumbles', async () => {
    const { job, bodies } = jobs()
    const schema = {
      '~standard': {
        version: 1 as const,
        vendor: 'test',
        validate: (value: unknown) => {
          if (value === 13) throw new Error('stumbled')
          return { value }
        },
      },
    }
    const node = await startedRuntime([{ ...job, schema } as AnyJob])
    const task = { groupId: 'g', type: 'it', domain: '', priority: 0 }
    await node.runtime.tasks.put([
      { ...task, id: 'bad', body: '13' },
      { ...task, id: 'good', body: '1' },
    ])
    await node.runtime.tasks.queue('g', 10)
    await node.forwardUntil(() => bodies.length === 1, 'the other ran')
    expect(node.of('duty.failed')).toEqual([])
  })
})

it('the jobs of a node that is gone run on another within thirty-five seconds', async () => {
  const started: string[] = []
  const jobOn = (name: string): AnyJob => ({
    type: 'it',
    version: '1',
    run: () => {
      started.push(name)
      return name === 'a' ? new Promise(() => {}) : name
    },
  })
  let isGone = false
  // As a killed process: the store hears nothing more of it.
  const wrap = (store: JobStore): JobStore =>
    new Proxy(store, {
      get(target, name: keyof JobStore) {
        const call = target[name]
        if (typeof call !== 'function') return call
        return (...args: never[]) =>
          isGone ? new Promise(() => {}) : (call as (...args: never[]) => unknown)(...args)
      },
    })
  const gone = await startedRuntime([jobOn('a')], { wrap })
  const id = await gone.submit('it')
  await gone.until(() => started.length === 1, 'it ran')
  isGone = true
  const at = gone.clock.now()
  const other = await startedRuntime([jobOn('b')], { nodeId: 'node-b' }, gone)
  expect(await other.ended(id)).toBe('done')
  expect(other.clock.now() - at).toBeLessThanOrEqual(35_000)
  expect(other.of('jobs.rescued')).toMatchObject([{ recovered: { requeued: 1 } }])
})
