/** A runtime that drains, ends or is killed, and the next one on the same database. */
import { describe, expect, it } from 'vitest'
import type { AnyJob } from '../../src/jobs/define-job.ts'
import { StoreUnavailable } from '../../src/runtime/store/job-store.ts'
import { countedJob, gate, startedRuntime, untilStopped } from './test-runtime.ts'

const away = () => new StoreUnavailable('database.away', 'It is away.')

describe('stopping', () => {
  it('draining hands back what waits without costing an attempt, and lets finish what runs', async () => {
    const halt = gate()
    const { job, calls } = countedJob(() => halt.promise)
    const node = await startedRuntime([job], { limits: { concurrency: 1, prefetch: 5 } })
    const [first, second] = await node.runtime.submitMany([{ type: 'it' }, { type: 'it' }])
    await node.started(first!.id)
    let isDrained = false
    const drained = node.runtime.drain().then(() => {
      isDrained = true
    })
    await node.rest()
    expect(isDrained).toBe(false)
    expect(await node.runtime.get(second!.id)).toMatchObject({ state: 'queued' })
    expect((await node.runtime.get(second!.id))?.envelope.header.attempt).toBe(0)
    halt.open()
    await drained
    expect((await node.runtime.get(first!.id))?.state).toBe('done')
    await node.pass(3_000)
    expect(calls).toHaveLength(1)
  })

  it('draining ends although there is more to be had all the time', async () => {
    const { job } = countedJob(() => null)
    const node = await startedRuntime([job], { limits: { concurrency: 2, prefetch: 0 } })
    await node.runtime.submitMany(Array(500).fill({ type: 'it' }))
    await node.until(() => node.of('job.settled').length > 50, 'some ran')
    await node.runtime.drain()
    expect((await node.runtime.stats()).live).toMatchObject({ running: 0 })
    expect(node.of('job.settled').length).toBeLessThan(100)
  })

  it('a claim answered while the node ends is handed back', async () => {
    const answer = gate()
    const { job, calls } = countedJob(untilStopped)
    let isHeldUp = false
    const node = await startedRuntime([job], {
      wrap: (store) => ({
        ...store,
        claim: async (request) => {
          const claim = await store.claim(request)
          if (isHeldUp) await answer.promise
          return claim
        },
      }),
    })
    isHeldUp = true
    const id = await node.submit('it')
    await node.rest()
    const ended = node.runtime.end()
    answer.open()
    await ended
    expect(calls).toHaveLength(0)
    expect(await node.store.get(id)).toMatchObject({ state: 'queued', attempt: 0 })
  })

  it('the next life of a node goes on from the checkpoint of a job it had to hand back', async () => {
    const seen: unknown[] = []
    const { job, calls } = countedJob(async (context, call) => {
      seen.push(context.checkpointed)
      if (call === 2) return 'finished'
      await context.checkpoint({ page: 7 })
      return untilStopped(context)
    })
    const node = await startedRuntime([job])
    const id = await node.submit('it')
    await node.started(id)
    await node.rest()
    await node.runtime.end()
    expect(calls[0]?.signal.aborted).toBe(true)
    expect(await node.store.get(id)).toMatchObject({ state: 'queued', attempt: 0 })
    const next = await startedRuntime([job], {}, node)
    expect(await next.ended(id)).toBe('done')
    expect(seen).toEqual([undefined, { page: 7 }])
    expect(calls[1]?.job.attempt).toBe(1)
  })

  it('a killed node goes on from the state its job stood in; that costs an attempt', async () => {
    const calls: string[] = []
    const job: AnyJob = {
      type: 'staged',
      version: '1',
      states: {
        one: { description: 'One.', on: { PERFORMED: 'two' } },
        two: { description: 'Two.', on: { PERFORMED: 'three' } },
        three: { description: 'Three.' },
      },
      performers: {
        one: () => void calls.push('one'),
        two: () => void calls.push('two'),
        three: ({ job: { attempt } }) => {
          calls.push('three')
          return calls.length === 3 ? new Promise(() => {}) : { attempt }
        },
      },
    }
    const node = await startedRuntime([job])
    const id = await node.submit('staged')
    await node.until(() => calls.length === 3, 'it stood in its third state')
    node.runtime.host.halt()
    const next = await startedRuntime([job], {}, node)
    expect(next.of('node.enlisted')).toMatchObject([{ recovered: { requeued: 1 } }])
    expect(await next.ended(id)).toBe('done')
    expect(calls).toEqual(['one', 'two', 'three', 'three'])
    expect((await next.runtime.get(id))?.result).toEqual({ attempt: 2 })
  })

  it('ending does not wait for ever for a store that is away', async () => {
    const { job } = countedJob(untilStopped)
    let isAway = false
    const node = await startedRuntime([job], {
      wrap: (store) => ({
        ...store,
        settle: async (...args) => {
          if (isAway) throw away()
          return store.settle(...args)
        },
        leave: async (...args) => {
          if (isAway) throw away()
          return store.leave(...args)
        },
      }),
    })
    const id = await node.submit('it')
    await node.started(id)
    isAway = true
    let isEnded = false
    node.runtime.end().then(() => {
      isEnded = true
    })
    await node.forwardUntil(() => isEnded, 'it ended')
    const next = await startedRuntime([countedJob(() => 'yes').job], {}, node)
    expect(await next.ended(id)).toBe('done')
  })
})
