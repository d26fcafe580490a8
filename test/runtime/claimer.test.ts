import { expect, it } from 'vitest'
import { claimer } from '../../src/runtime/claimer.ts'
import type { JobWorker } from '../../src/runtime/job-worker.ts'
import type {
  Claim,
  ClaimedJob,
  ClaimRequest,
  JobQueue,
} from '../../src/runtime/store/job-store.ts'

function claimerOf(claims: Claim[], { room = 10, isLeased = true } = {}) {
  const requests: ClaimRequest[] = []
  let taken = 0
  const worker = {
    get room() {
      return room - taken
    },
    counts: { fullDomains: ['full.example'], domainJobsMax: 5, hasSuspect: true },
    take: (jobs: readonly ClaimedJob[]) => {
      taken += jobs.length
    },
  } as unknown as JobWorker
  const queue = {
    claim: async (request: ClaimRequest) => {
      requests.push(request)
      return claims.shift() ?? { jobs: [], next: null }
    },
  } as unknown as JobQueue
  const { runOnce } = claimer({
    queue,
    worker,
    nodeId: 'a',
    types: ['it'],
    pollMs: 1_000,
    batchMax: 4,
    epoch: () => (isLeased ? 1 : undefined),
    refusedDomains: () => ['resting.example'],
    onClaimed: () => {},
  })
  const free = () => {
    taken = 0
  }
  return { runOnce, requests, free }
}

const claim = (jobs: number, next: string | null): Claim => ({
  jobs: Array.from({ length: jobs }, () => ({}) as ClaimedJob),
  next,
})

it('asks until nothing is left, and no more than there is room for', async () => {
  const { runOnce, requests } = claimerOf([claim(4, null), claim(4, null), claim(2, null)])
  await runOnce(0)
  expect(requests.map(({ jobsMax }) => jobsMax)).toEqual([4, 4, 2])
})

it('rests only after a walk from the first lane to the last has found nothing', async () => {
  const { runOnce, requests } = claimerOf([
    claim(1, 'm'),
    claim(0, null),
    claim(0, 'm'),
    claim(0, null),
  ])
  await runOnce(0)
  expect(requests.map(({ after }) => after)).toEqual([null, 'm', null, 'm', null])
})

it('goes on from the lane at which it ran out of room', async () => {
  const { runOnce, requests, free } = claimerOf([claim(4, 'd')], { room: 4 })
  await runOnce(0)
  await runOnce(0)
  expect(requests).toHaveLength(1)
  free()
  await runOnce(0)
  expect(requests.map(({ after }) => after)).toEqual([null, 'd', null])
})

it('leaves alone the domains that rest or are full', async () => {
  const { runOnce, requests } = claimerOf([])
  await runOnce(0)
  expect(requests[0]).toMatchObject({
    refusedDomains: ['resting.example', 'full.example'],
    domainJobsMax: 5,
    takesSuspect: false,
  })
})

it('asks for nothing without a lease', async () => {
  const { runOnce, requests } = claimerOf([claim(1, null)], { isLeased: false })
  await runOnce(0)
  expect(requests).toEqual([])
})
