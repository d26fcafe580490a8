/** What can happen to a job on its node besides ending by itself. */
import { describe, expect, it } from 'vitest'
import {
  type Claim,
  type ClaimRequest,
  type JobStore,
  StoreUnavailable,
} from '../../src/runtime/store/job-store.ts'
import { countedJob, gate, startedRuntime, testRuntime, untilStopped } from './test-runtime.ts'

const away = () => new StoreUnavailable('database.away', 'It is away.')

describe('cancelling', () => {
  it('a job cancelled in the queue never runs', async () => {
    const { job, calls } = countedJob(() => null)
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
    const { job, calls } = countedJob(() => halt.promise)
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
    const { job, calls } = countedJob(untilStopped)
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
    const { job, calls } = countedJob(({ retry }) => retry('no'))
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
    const { job } = countedJob(untilStopped)
    const node = await startedRuntime([job])
    const id = await node.submit('it')
    await node.started(id)
    expect(await node.store.cancel(id)).toBe('requested')
    expect(await node.ended(id)).toBe('cancelled')
  })
})

describe('taking too long', () => {
  it('an attempt over its time is stopped and counts as failed', async () => {
    const { job, calls } = countedJob(untilStopped, { attemptMsMax: 10_000, attemptsMax: 2 })
    const node = await startedRuntime([job])
    const id = await node.submit('it')
    expect(await node.ended(id)).toBe('dead')
    expect(calls).toHaveLength(2)
    expect((await node.runtime.get(id))?.error?.code).toBe('ATTEMPT_TIMED_OUT')
    expect(calls.every(({ signal }) => signal.aborted)).toBe(true)
  })

  it('a handler that ignores its signal is reported, and what it says later is not heard', async () => {
    const halt = gate<string>()
    const { job, calls } = countedJob((_, call) => (call === 1 ? halt.promise : 'second'), {
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

it('a job put back and claimed again before its actor has left runs again', async () => {
  const { job, calls } = countedJob(({ wait, now }, call) =>
    call < 4 ? wait(now() + 5_000, 'x') : call,
  )
  const claims: Claim[] = []
  let request: ClaimRequest | undefined
  // It is parked without a pause and claimed in the same breath: both answers come in one turn.
  const wrap = (store: JobStore): JobStore => ({
    ...store,
    claim: async (asked) => {
      request = asked
      return claims.shift() ?? store.claim(asked)
    },
    settle: async (nodeId, settlements) => {
      const hurried = settlements.map((each) =>
        'delayMs' in each ? { ...each, delayMs: 0 } : each,
      )
      const verdicts = await store.settle(nodeId, hurried)
      claims.push(await store.claim({ ...request!, after: null }))
      return verdicts
    },
  })
  const node = await startedRuntime([job], { wrap })
  const id = await node.submit('it')
  expect(await node.ended(id)).toBe('done')
  expect(calls).toHaveLength(4)
  expect(calls.every(({ job: { attempt } }) => attempt === 1)).toBe(true)
})

it('a job whose task is gone is skipped without running', async () => {
  const { job, calls } = countedJob(() => null)
  const node = await startedRuntime([job])
  const id = await node.submit('it', null, { taskId: 'no-such-task' })
  expect(await node.ended(id)).toBe('skipped')
  expect(calls).toHaveLength(0)
  expect((await node.runtime.get(id))?.reason).toMatch(/task/)
})

it('a job with a task brings the task its result', async () => {
  const { job } = countedJob(({ body }) => body)
  const node = await startedRuntime([job])
  const task = { id: 't', groupId: 'g', type: 'it', body: '{"n":1}', domain: '', priority: 0 }
  await node.runtime.tasks.put([task])
  await node.runtime.tasks.queue('g', 10)
  await node.forwardUntil(() => node.of('job.settled').length > 0, 'it ran')
  expect(await node.runtime.tasks.get('t')).toMatchObject({ state: 'COMPLETED', result: '{"n":1}' })
})

describe('a store that is away for a while', () => {
  it('is told the same until it answers; the job is settled once', async () => {
    const { job, calls } = countedJob(() => 'yes')
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
  const { job } = countedJob(({ body }) => body)
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
  const { job } = countedJob(() => 'yes')
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
    const { job } = countedJob(async () => {
      most = Math.max(most, ++running)
      await Promise.resolve()
      running--
    })
    const hanging = countedJob(() => new Promise(() => {})).job
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
