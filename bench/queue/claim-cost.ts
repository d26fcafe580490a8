import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/runtime/clock.ts'
import { jobIdMaker, type MakeJobId } from '../../src/runtime/job-id.ts'
import { systemBytes } from '../../src/runtime/random.ts'
import type { Enlistment, JobStore, NewJob } from '../../src/runtime/store/job-store.ts'
import { openPostgresStore } from '../../src/runtime/store/postgres/postgres-store.ts'
import { openSqliteStore } from '../../src/runtime/store/sqlite/sqlite-store.ts'
import { startPostgres } from '../../test/provision/postgres.ts'
import { durablePostgres } from './stage.ts'
import { median } from './statistics.ts'

/** What one claim costs when few and when very many jobs are queued. */
export interface ClaimCost {
  readonly store: string
  readonly msAmong1Thousand: number
  readonly msAmong1Million: number
}

const few = 1_000
const many = 1_000_000
const bulk = 5_000
const claimed = 100
const claims = 300
const nodeId = 'bench'

export async function measureClaimCost(): Promise<readonly ClaimCost[]> {
  return [await onSqlite(), await onPostgres()]
}

async function onSqlite(): Promise<ClaimCost> {
  const directory = await mkdtemp(join(tmpdir(), 'decorum-bench-'))
  const store = await openSqliteStore({ path: join(directory, 'decorum.db'), clock: systemClock })
  try {
    return { store: 'SQLite', ...(await costIn(store)) }
  } finally {
    await store.close()
    await rm(directory, { recursive: true })
  }
}

async function onPostgres(): Promise<ClaimCost> {
  const server = await startPostgres({ settings: durablePostgres })
  const store = await openPostgresStore({ url: server.url })
  try {
    return { store: 'PostgreSQL', ...(await costIn(store)) }
  } finally {
    await store.close()
    await server.stop()
  }
}

async function costIn(store: JobStore): Promise<Omit<ClaimCost, 'store'>> {
  const makeId = jobIdMaker(systemClock, systemBytes)
  const { epoch } = await store.enlist({ id: nodeId, role: 'all', address: null, version: '1' })
  await fill(store, makeId, few)
  await claimMs(store, epoch)
  const msAmong1Thousand = await claimMs(store, epoch)
  await fill(store, makeId, many - few)
  const msAmong1Million = await claimMs(store, epoch)
  return { msAmong1Thousand, msAmong1Million }
}

async function fill(store: JobStore, makeId: MakeJobId, jobs: number): Promise<void> {
  for (let left = jobs; left > 0; left -= bulk)
    await store.add(Array.from({ length: Math.min(bulk, left) }, () => newJob(makeId())))
}

/** What is claimed goes back each time, so that the queue stays as full as it is. */
async function claimMs(store: JobStore, epoch: Enlistment['epoch']): Promise<number> {
  const times: number[] = []
  for (let time = 0; time < claims; time++) {
    await store.beat(nodeId, epoch)
    const begunAt = performance.now()
    const { jobs } = await store.claim({
      nodeId,
      epoch,
      jobsMax: claimed,
      types: ['noop'],
      refusedDomains: [],
      domainJobsMax: claimed,
      takesSuspect: true,
      after: null,
    })
    times.push(performance.now() - begunAt)
    if (jobs.length !== claimed) throw new Error(`Only ${jobs.length} jobs could be claimed.`)
    await store.settle(
      nodeId,
      jobs.map(({ id, fence }) => ({ id, fence, kind: 'done', result: 'null' })),
    )
    await store.replay({ ids: jobs.map(({ id }) => id), states: ['done'] }, { jobsMax: claimed })
  }
  return median(times)
}

function newJob(id: string): NewJob {
  return {
    id,
    type: 'noop',
    version: '1',
    body: '{}',
    key: null,
    domain: '',
    priority: 0,
    runAt: null,
    attemptsMax: 5,
    taskId: null,
    traceId: id.replaceAll('-', ''),
    spanId: '0000000000000000',
  }
}
