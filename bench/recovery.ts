/**
 * How long until everything runs again: `npm run bench -- recovery [--jobs=N] [--rounds=R]`.
 *
 * A node with N jobs under way is killed with SIGKILL and started again. The time runs from the
 * start of the process, loading and compiling included, until the last of the N handlers runs again;
 * then all of them finish, which is counted in the store. And: a node with 50 jobs under way is told
 * to stop, and hands them back.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startPostgres } from '../test/provision/postgres.ts'
import { startRedis } from '../test/provision/redis.ts'
import { line } from './measure.ts'
import { durablePostgres } from './queue/stage.ts'
import type { NodePlan, Order, Report } from './recovery/node.ts'

const nodeFile = fileURLToPath(new URL('./recovery/node.ts', import.meta.url))
const STOPPED_JOBS = 50

type Addresses = Omit<NodePlan, 'jobs' | 'isFirst'>

export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      jobs: { type: 'string', default: '10000' },
      rounds: { type: 'string', default: '3' },
    },
  })
  const [jobs, rounds] = [Number(values.jobs), Number(values.rounds)]
  if (!(Number.isInteger(jobs) && jobs > 0 && Number.isInteger(rounds) && rounds > 0))
    throw new Error('--jobs and --rounds take whole numbers above zero.')
  for (let round = 0; round < rounds; round++) {
    await onSqlite((addresses) => measureRecovery('SQLite', addresses, jobs))
    await onServers((addresses) => measureRecovery('PostgreSQL and Redis', addresses, jobs))
  }
  await onSqlite((addresses) => measureStop('SQLite', addresses))
  await onServers((addresses) => measureStop('PostgreSQL and Redis', addresses))
}

async function measureRecovery(name: string, addresses: Addresses, jobs: number): Promise<void> {
  const first = start({ ...addresses, jobs, isFirst: true })
  await report(first, 'allRun')
  first.kill('SIGKILL')
  await once(first, 'exit')

  const from = performance.now()
  const second = start({ ...addresses, jobs, isFirst: false })
  await report(second, 'allRun')
  const recoveryMs = performance.now() - from
  const finishing = performance.now()
  tell(second, 'finish')
  const { done, other } = await report(second, 'allEnded')
  const finishMs = performance.now() - finishing
  tell(second, 'stop')
  await once(second, 'exit')
  const count = jobs.toLocaleString('en')
  line(`${name}: killed with ${count} under way, all run again`, ms(recoveryMs))
  line(`${name}: and all finish`, ms(finishMs), `${done} done, ${other} not`)
}

async function measureStop(name: string, addresses: Addresses): Promise<void> {
  const node = start({ ...addresses, jobs: STOPPED_JOBS, isFirst: true })
  await report(node, 'allRun')
  const from = performance.now()
  tell(node, 'stop')
  const { stopMs, handedBack } = await report(node, 'stopped')
  line(`${name}: stop with ${STOPPED_JOBS} under way`, ms(stopMs), `${handedBack} handed back`)
  await once(node, 'exit')
  line(`${name}: until its process is gone`, ms(performance.now() - from))
}

function start(plan: NodePlan): ChildProcess {
  return fork(nodeFile, [JSON.stringify(plan)], { execArgv: [] })
}

function tell(node: ChildProcess, order: Order): void {
  node.send(order)
}

/** Rejects when the node ends without it. */
async function report<T extends Report['told']>(
  node: ChildProcess,
  told: T,
): Promise<Report & { told: T }> {
  const { promise, resolve, reject } = Promise.withResolvers<Report & { told: T }>()
  const hear = (said: Report) => {
    if (said.told === told) resolve(said as Report & { told: T })
  }
  const miss = (code: number | null, signal: string | null) =>
    reject(new Error(`The node ended (${signal ?? code}) before it told '${told}'.`))
  node.on('message', hear).once('exit', miss)
  try {
    return await promise
  } finally {
    node.off('message', hear).off('exit', miss)
  }
}

/** A directory of its own, which without servers holds everything. */
async function onSqlite(measure: (addresses: Addresses) => Promise<void>): Promise<void> {
  const data = await mkdtemp(join(tmpdir(), 'decorum-recovery-'))
  try {
    await measure({ data })
  } finally {
    await rm(data, { recursive: true })
  }
}

async function onServers(measure: (addresses: Addresses) => Promise<void>): Promise<void> {
  const postgres = await startPostgres({ settings: durablePostgres })
  const redis = await startRedis()
  try {
    await onSqlite(({ data }) => measure({ data, databaseUrl: postgres.url, redisUrl: redis.url }))
  } finally {
    await Promise.all([postgres.stop(), redis.stop()])
  }
}

function ms(duration: number): string {
  return `${Math.round(duration).toLocaleString('en')} ms`
}
