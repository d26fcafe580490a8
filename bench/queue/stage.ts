import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startPostgres } from '../../test/provision/postgres.ts'
import { startRedis } from '../../test/provision/redis.ts'
import type { Contender, RedisPersistence } from './contenders.ts'
import type { Trial, TrialSize } from './trial.ts'
import type { TrialOrder, TrialReport } from './trial-process.ts'

/** What the servers of the tests leave out for speed: here a commit is on the disk. */
export const durablePostgres = {
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  shared_buffers: '256MB',
} as const

const redisSettings: Readonly<Record<RedisPersistence, Record<string, string>>> = {
  none: {},
  everysec: { appendonly: 'yes', appendfsync: 'everysec' },
  always: { appendonly: 'yes', appendfsync: 'always' },
}

export type Performance =
  | { readonly outcome: 'measured'; readonly trial: Trial; readonly busyBefore: number }
  | { readonly outcome: 'failed'; readonly reason: string }

const trialFile = fileURLToPath(new URL('./trial-process.ts', import.meta.url))
const trialMsMax = 600_000
const quietShareMax = 0.1
const quietWaitsMax = 5
const quietSampleMs = 1_500

/** One trial with servers, a folder and a process of its own, all gone afterwards. */
export async function perform(contender: Contender, size: TrialSize): Promise<Performance> {
  const opened: { stop(): Promise<void> }[] = []
  const directory = await mkdtemp(join(tmpdir(), 'decorum-bench-'))
  try {
    let postgresUrl = ''
    let redisUrl = ''
    if (contender.postgres) {
      const server = await startPostgres({ settings: durablePostgres })
      opened.push(server)
      postgresUrl = server.url
    }
    if (contender.redis !== undefined) {
      const server = await startRedis({ settings: redisSettings[contender.redis] })
      opened.push(server)
      redisUrl = server.url
    }
    const busyBefore = await quiet()
    const report = await runChild({
      adapter: contender.adapter,
      place: { postgresUrl, redisUrl, directory, settings: contender.settings },
      size,
    })
    return report.outcome === 'measured' ? { ...report, busyBefore } : report
  } finally {
    await Promise.all(opened.map((server) => server.stop()))
    await rm(directory, { recursive: true, force: true })
  }
}

async function runChild(order: TrialOrder): Promise<TrialReport> {
  const child = fork(trialFile, [JSON.stringify(order)], { execArgv: ['--expose-gc'] })
  const exited = once(child, 'exit')
  const timer = setTimeout(() => child.kill('SIGKILL'), trialMsMax)
  try {
    const gone = exited.then(([code, signal]): TrialReport => {
      return { outcome: 'failed', reason: `its process ended early (${signal ?? code})` }
    })
    const told = once(child, 'message').then(([report]): TrialReport => report)
    const report = await Promise.race([told, gone])
    await exited
    return report
  } finally {
    clearTimeout(timer)
  }
}

/** The busy share of the machine at the end: what others took, and what the figures may lack. */
async function quiet(): Promise<number> {
  for (let waits = 1; ; waits++) {
    const share = await busyShare()
    if (share <= quietShareMax || waits === quietWaitsMax) return share
  }
}

async function busyShare(): Promise<number> {
  const before = times()
  await pause(quietSampleMs)
  const after = times()
  return (after.busy - before.busy) / (after.all - before.all)
}

function times(): { readonly busy: number; readonly all: number } {
  const sums = { busy: 0, all: 0 }
  for (const { times } of cpus()) {
    const all = Object.values(times).reduce((sum, ms) => sum + ms, 0)
    sums.all += all
    sums.busy += all - times.idle
  }
  return sums
}
