/** What can happen to a job on its node besides ending by itself. */
import { describe, expect, it } from 'vitest'
import type { AnyJob, JobContext } from '../../src/jobs/define-job.ts'
import { type JobStore, StoreUnavailable } from '../../src/runtime/store/job-store.ts'
import { gate, startedRuntime, testRuntime } from './test-runtime.ts'

type Handler = (context: JobContext<never>, calls: number) => unknown

function jobOf(run: Handler, more: object = {}) {
  const calls: JobContext[] = []
  const job: AnyJob = {
    type: 'it',
    version: '1',
    backoff: { kind: 'schedule', delaysMs: [1_000] },
    ...more,
    run(context: JobContext<never>) {
      calls.push(context)
      return run(context, calls.length)
    },
  }
  return { job, calls }
}

const away = () => new StoreUnavailable('database.away', 'It is away.')

/** Rejects when it is told to stop, as fetch does. */
function untilStopped({ signal }: JobContext): Promise<never> {
  return new Promise((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
  )
}

describe('cancelling', () => {
  it('a job cancelled in the queue never runs', async () => {
    const { job, calls } = jobOf(() => null)
    const node = await testRuntime([job])
    const id = await node.submit('it')
    expect(await node.runtime.cancel(id)).toBe('cancelled')
    await node.runtime.start()
    await node.pass(3_000)
    expect(calls).toHaveLength(0)
    expect((await node.runtime.get(id))?.state).toBe('cancelled')
  })

  it('a job cancelled while it waits for its turn on the node never runs', async () => {
    const halt = gate()
    const { job, calls } = jobOf(() => halt.promise)
    const node = await startedRuntime([job], { limits: { concurrency: 1, prefetch: 1 } })
    const first = await node.submit('it')
    const second = await node.submit('it')
    await node.started(first)
    await node.until(() => node.of('jobs.claimed').length >= 2, 'both were claimed')
    expect(await node.runtime.cancel(second)).toBe('requested')
    expect(await node.ended(second)).toBe('cancelled')
    halt.open()
    await node.ended(first)
    expect(calls).toHaveLength(1)
  })

  it('a running job that is cancelled is told, and ends as cancelled whatever it says', async () => {
    const { job, calls } = jobOf(untilStopped)
    const node = await startedRuntime([job])
    const id = await node.submit('it')
    await node.started(id)
    await node.rest()
    expect(await node.runtime.cancel(id)).toBe('requested')
    expect(await node.ended(id)).toBe('cancelled')
    expect(calls).toHaveLength(1)
    expect(calls[0]?.signal.reason.message).toMatch(/cancelled/)
    expect(await node.runtime.cancel(id)).toBe('final')
  })

  it('a job cancelled between two attempts is not tried again', async () => {
    const { job, calls } = jobOf(({ retry }) => retry('no'))
    const node = await startedRuntime([job])
    const id = await node.submit('it')
    await node.until(() => calls.length === 1, 'it ran')
    await node.rest()
    expect((await node.runtime.get(id))?.statechart).toBe('backingOff')
    await node.runtime.cancel(id)
    expect(await node.ended(id)).toBe('cancelled')
    expect(calls).toHaveLength(1)
  })

  it('a job cancelled from another node hears of it', async () => {
    const { job } = jobOf(untilStopped)
    const node = await startedRuntime([job])
    const id = await node.submit('it')
    await node.started(id)
    expect(await node.store.cancel(id)).toBe('requested')
    expect(await node.ended(id)).toBe('cancelled')
  })
})

describe('taking too long', () => {
  it('an attempt over its time is stopped and counts as failed', async () => {
    const { job, calls } = jobOf(untilStopped, { attemptMsMax: 10_000, attemptsMax: 2 })
    const node = await startedRuntime([job])
    const id = await node.submit('it')
    expect(await node.ended(id)).toBe('dead')
    expect(calls).toHaveLength(2)
    expect((await node.runtime.get(id))?.error?.code).toBe('ATTEMPT_TIMED_OUT')
    expect(calls.every(({ signal }) => signal.aborted)).toBe(true)
  })

  it('a handler that ignores its signal is reported, and what it says later is not heard', async () => {
    const halt = gate<string>()
    const { job, calls } = jobOf((_, call) => (call === 1 ? halt.promise : 'second'), {
      attemptMsMax: 10_000,
    })
    const node = await startedRuntime([job])
    const id = await node.submit('it')
    await node.started(id)
    await node.forwardUntil(() => node.of('job.deaf', id).length > 0, 'it was reported')
    expect(node.of('job.deaf', id)).toMatchObject([{ attempt: 1, reason: 'it took too long' }])
    halt.open('first')
    await node.ended(id)
    expect(calls).toHaveLength(2)
    expect((await node.runtime.get(id))?.result).toBe('second')
  })
})

it('a job put back without a pause runs again, also when it is claimed before it has left', async () => {
  const { job, calls } = jobOf(({ wait, now }, call) =>
    call < 4 ? wait(now() + 5_000, 'x') : call,
  )
  let isHurried = true
  // The store forgets the pause: what is parked can be claimed in the same moment.
  const wrap = (store: JobStore): JobStore => ({
    ...store,
    settle: (nodeId, settlements) =>
      store.settle(
        nodeId,
        settlements.map((each) =>
          'delayMs' in each && isHurried ? { ...each, delayMs: 0 } : each,
        ),
      ),
  })
  const node = await startedRuntime([job], { wrap })
  const id = await node.submit('it')
  expect(await node.ended(id)).toBe('done')
  isHurried = false
  expect(calls).toHaveLength(4)
  expect(calls.every(({ job: { attempt } }) => attempt === 1)).toBe(true)
})

it('a job whose task is gone is skipped without running', async () => {
  const { job, calls } = jobOf(() => null)
  const node = await startedRuntime([job])
  const id = await node.submit('it', null, { taskId: 'no-such-task' })
  expect(await node.ended(id)).toBe('skipped')
  expect(calls).toHaveLength(0)
  expect((await node.runtime.get(id))?.reason).toMatch(/task/)
})

it('a job with a task brings the task its result', async () => {
  const { job } = jobOf(({ body }) => body)
  const node = await startedRuntime([job])
  const task = { id: 't', groupId: 'g', type: 'it', body: '{"n":1}', domain: '', priority: 0 }
  await node.runtime.tasks.put([task])
  await node.runtime.tasks.queue('g', 10)
  await node.forwardUntil(() => node.of('job.settled').length > 0, 'it ran')
  expect(await node.runtime.tasks.get('t')).toMatchObject({ state: 'COMPLETED', result: '{"n":1}' })
})

describe('losing the lease', () => {
  it('what runs is stopped, nothing of it is settled, and it runs again', async () => {
    const first = gate<string>()
    const { job, calls } = jobOf((_, call) => (call === 1 ? first.promise : `call ${call}`))
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
    const { job, calls } = jobOf((context, call) => (call === 1 ? untilStopped(context) : 'yes'))
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
    const { job, calls } = jobOf(({ retry }, call) => (call === 1 ? retry('no') : second.promise))
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
    const { job, calls } = jobOf(() => halt.promise)
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

describe('stopping', () => {
  it('draining hands back what waits without costing an attempt, and lets finish what runs', async () => {
    const halt = gate()
    const { job, calls } = jobOf(() => halt.promise)
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
    const { job } = jobOf(() => null)
    const node = await startedRuntime([job], { limits: { concurrency: 2, prefetch: 0 } })
    await node.runtime.submitMany(Array(500).fill({ type: 'it' }))
    await node.until(() => node.of('job.settled').length > 50, 'some ran')
    await node.runtime.drain()
    expect((await node.runtime.stats()).live).toMatchObject({ running: 0 })
    expect(node.of('job.settled').length).toBeLessThan(100)
  })

  it('a claim answered while the node ends is handed back', async () => {
    const answer = gate()
    const { job, calls } = jobOf(untilStopped)
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
    const { job, calls } = jobOf(async (context, call) => {
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
    const { job } = jobOf(untilStopped)
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
    const next = await startedRuntime([jobOf(() => 'yes').job], {}, node)
    expect(await next.ended(id)).toBe('done')
  })
})

describe('a store that is away for a while', () => {
  it('is told the same until it answers; the job is settled once', async () => {
    const { job, calls } = jobOf(() => 'yes')
    let failures = 3
    let settles = 0
    const node = await startedRuntime([job], {
      wrap: (store) => ({
        ...store,
        settle: async (...args) => {
          settles++
          const verdicts = await store.settle(...args)
          // The last of them has been heard: only the answer was lost.
          if (failures-- > 0) throw away()
          return verdicts
        },
      }),
    })
    const id = await node.submit('it')
    expect(await node.ended(id)).toBe('done')
    expect(settles).toBe(4)
    expect(calls).toHaveLength(1)
    expect(node.of('job.settled', id)).toHaveLength(1)
    expect(node.of('duty.failed').map(({ duty, failures: times }) => [duty, times])).toEqual([
      ['settler', 1],
      ['settler', 2],
      ['settler', 3],
    ])
    expect(node.of('duty.recovered')).toMatchObject([{ duty: 'settler' }])
    expect((await node.runtime.stats()).ended.done).toBe(1)
  })
})

it('a job the store does not take is given up, and keeps no other from being settled', async () => {
  const { job } = jobOf(({ body }) => body)
  let isMended = false
  const node = await startedRuntime([job], {
    wrap: (store) => ({
      ...store,
      settle: async (nodeId, settlements) => {
        if (!isMended && settlements.some((each) => 'result' in each && each.result === '"bad"'))
          throw new Error('constraint failed')
        return store.settle(nodeId, settlements)
      },
    }),
  })
  const [good, bad, other] = await node.runtime.submitMany(
    ['good', 'bad', 'other'].map((body) => ({ type: 'it', body })),
  )
  expect(await node.ended(good!.id)).toBe('done')
  expect(await node.ended(other!.id)).toBe('done')
  await node.forwardUntil(() => node.of('job.lost', bad!.id).length > 0, 'it was given up')
  isMended = true
  // The store still believes that it runs here, until somebody compares.
  expect(await node.ended(bad!.id)).toBe('done')
})

it('a job whose actor crashes too often is dead-lettered, and runs again when somebody replays it', async () => {
  let isBroken = true
  const { job } = jobOf(() => 'yes')
  const node = await startedRuntime([job], {
    onRun: () => {
      if (isBroken) throw new Error('stumbled')
    },
  })
  const id = await node.submit('it')
  expect(await node.ended(id)).toBe('dead')
  expect((await node.runtime.get(id))?.error?.code).toBe('actor.quarantined')
  isBroken = false
  await node.runtime.replay({ ids: [id] })
  await node.forwardUntil(() => node.of('job.settled', id).length === 2, 'it ran again')
  expect((await node.runtime.get(id))?.state).toBe('done')
})

describe('suspects', () => {
  it('two jobs that were there at two crashes never run at a time', async () => {
    let [running, most] = [0, 0]
    const { job } = jobOf(async () => {
      most = Math.max(most, ++running)
      await Promise.resolve()
      running--
    })
    const hanging = jobOf(() => new Promise(() => {})).job
    let node = await testRuntime([hanging])
    const receipts = await node.runtime.submitMany(Array(4).fill({ type: 'it' }))
    for (let crash = 0; crash < 2; crash++) {
      await node.runtime.start()
      await node.forwardUntil(
        () =>
          node.of('job.started').length === 4 || (crash > 0 && node.of('job.started').length > 0),
        'they ran',
      )
      node.runtime.host.halt()
      node = await testRuntime([crash === 0 ? hanging : job], {}, node)
    }
    await node.runtime.start()
    for (const { id } of receipts) expect(await node.ended(id)).toBe('done')
    expect(most).toBe(1)
  })
})
