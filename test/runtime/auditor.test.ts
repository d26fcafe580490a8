import { expect, it } from 'vitest'
import type { JobStore } from '../../src/runtime/store/job-store.ts'
import { gate, startedRuntime } from './test-runtime.ts'

it('a job claimed in an answer that never arrived goes back to the queue and keeps its attempt', async () => {
  const attempts: number[] = []
  let isLost = true
  // The claim is committed, and the answer lost on the way.
  const wrap = (store: JobStore): JobStore => ({
    ...store,
    claim: async (request) => {
      const claim = await store.claim(request)
      if (!isLost || claim.jobs.length === 0) return claim
      isLost = false
      throw new Error('connection lost')
    },
  })
  const job = {
    type: 'it',
    version: '1',
    run: ({ job: { attempt } }: { job: { attempt: number } }) => void attempts.push(attempt),
  }
  const node = await startedRuntime([job], { wrap })
  const id = await node.submit('it')
  expect(await node.ended(id)).toBe('done')
  expect(attempts).toEqual([1])
})

it('what runs for hours is left alone', async () => {
  const halt = gate()
  let runs = 0
  const job = {
    type: 'it',
    version: '1',
    attemptMsMax: 24 * 3_600_000,
    run: () => {
      runs++
      return halt.promise
    },
  }
  const node = await startedRuntime([job], { limits: { concurrency: 1, prefetch: 1 } })
  const [first, second] = await node.runtime.submitMany([{ type: 'it' }, { type: 'it' }])
  await node.pass(200_000)
  expect(runs).toBe(1)
  halt.open()
  expect([await node.ended(first!.id), await node.ended(second!.id)]).toEqual(['done', 'done'])
  expect(runs).toBe(2)
})
