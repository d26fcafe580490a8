/** Jobs on a node whose lease has ended while they ran. */
import { describe, expect, it } from 'vitest'
import { StoreUnavailable } from '../../src/runtime/store/job-store.ts'
import { countedJob, gate, startedRuntime, untilStopped } from './test-runtime.ts'

const away = () => new StoreUnavailable('database.away', 'It is away.')

describe('losing the lease', () => {
  it('what runs is stopped, nothing of it is settled, and it runs again', async () => {
    const first = gate<string>()
    const { job, calls } = countedJob((_, call) => (call === 1 ? first.promise : `call ${call}`))
    let isAway = false
    const node = await startedRuntime([job], {
      wrap: (store) => ({
        ...store,
        beat: async (...args) => {
          if (isAway) throw away()
          return store.beat(...args)
        },
      }),
    })
    const id = await node.submit('it')
    await node.started(id)
    await node.rest()
    const { signal } = calls[0]!
    isAway = true
    await node.forwardUntil(() => node.of('node.leaseLost').length > 0, 'the lease was lost')
    await node.rest()
    expect(node.of('job.lost', id)).toHaveLength(1)
    expect(signal.aborted).toBe(true)
    first.open('too late')
    isAway = false
    expect(await node.ended(id)).toBe('done')
    expect(node.of('node.leaseLost')).toHaveLength(1)
    expect(node.of('node.enlisted')).toHaveLength(2)
    expect((await node.runtime.get(id))?.result).toBe('call 2')
    expect(node.of('job.settled', id)).toHaveLength(1)
  })

  it('a lease that others took over is given up at once, and the node enlists again', async () => {
    const { job, calls } = countedJob((context, call) =>
      call === 1 ? untilStopped(context) : 'yes',
    )
    let isLost = false
    const node = await startedRuntime([job], {
      wrap: (store) => ({
        ...store,
        beat: async (...args) => (isLost ? 'lost' : store.beat(...args)),
      }),
    })
    const id = await node.submit('it')
    await node.started(id)
    isLost = true
    await node.forwardUntil(() => node.of('node.leaseLost').length > 0, 'the lease was lost')
    isLost = false
    expect(await node.ended(id)).toBe('done')
    expect(calls).toHaveLength(2)
  })

  it('an answer about an earlier life of a job does not harm its present one', async () => {
    const [answer, second] = [gate(), gate<string>()]
    const { job, calls } = countedJob(({ retry }, call) =>
      call === 1 ? retry('no') : second.promise,
    )
    let [notes, isLost] = [0, false]
    const node = await startedRuntime([job], {
      wrap: (store) => ({
        ...store,
        beat: async (...args) => (isLost ? 'lost' : store.beat(...args)),
        note: async (...args) => {
          if (notes++ === 0) await answer.promise
          return store.note(...args)
        },
      }),
    })
    const id = await node.submit('it')
    await node.forwardUntil(() => notes === 1, 'the second attempt was to be counted')
    isLost = true
    await node.forwardUntil(() => node.of('node.leaseLost').length > 0, 'the lease was lost')
    isLost = false
    await node.forwardUntil(() => calls.length === 2, 'it ran again')
    answer.open()
    await node.rest()
    expect(calls[1]?.signal.aborted).toBe(false)
    second.open('second')
    expect(await node.ended(id)).toBe('done')
    expect((await node.runtime.get(id))?.result).toBe('second')
  })

  it('what waited on the node is begun by the next claim, not by the lost one', async () => {
    const halt = gate()
    const { job, calls } = countedJob(() => halt.promise)
    let isLost = false
    const node = await startedRuntime([job], {
      limits: { concurrency: 1, prefetch: 2 },
      wrap: (store) => ({
        ...store,
        beat: async (...args) => (isLost ? 'lost' : store.beat(...args)),
      }),
    })
    const receipts = await node.runtime.submitMany(Array(3).fill({ type: 'it' }))
    await node.until(() => calls.length === 1, 'one ran')
    isLost = true
    await node.forwardUntil(() => node.of('node.leaseLost').length > 0, 'the lease was lost')
    isLost = false
    halt.open()
    for (const { id } of receipts) expect(await node.ended(id)).toBe('done')
    expect((await node.runtime.stats()).live).toEqual({ queued: 0, scheduled: 0, running: 0 })
    const again = await node.submit('it')
    expect(await node.ended(again)).toBe('done')
  })
})
