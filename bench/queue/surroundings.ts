import { execFileSync } from 'node:child_process'
import {
  closeSync,
  fdatasyncSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { cpus, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { postgresBinaries, redisBinary } from '../../test/provision/binaries.ts'
import { thisMachine } from '../../test/provision/machine.ts'
import { median } from './statistics.ts'

/** Everything outside the contenders that their figures depend on. */
export interface Surroundings {
  readonly processor: string
  readonly cores: number
  readonly memoryGiB: number
  readonly node: string
  readonly postgres: string
  readonly redis: string
  /** Median time to bring 8 KiB to the disk the servers write to: the price of a durable commit. */
  readonly syncMs: number
  readonly peers: Readonly<Record<string, string>>
}

export async function surroundings(): Promise<Surroundings> {
  const machine = thisMachine()
  const postgres = join(await postgresBinaries(machine), 'postgres')
  return {
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.versions.node,
    postgres: version(postgres, /\(PostgreSQL\) (\S+)/),
    redis: version(await redisBinary(machine), /v=(\S+)/),
    syncMs: medianSyncMs(),
    peers: Object.fromEntries(
      ['bullmq', 'graphile-worker', 'pg-boss'].map((name) => [name, peerVersion(name)]),
    ),
  }
}

function version(program: string, pattern: RegExp): string {
  const answered = execFileSync(program, ['--version'], { encoding: 'utf8' })
  return pattern.exec(answered)?.[1] ?? 'unknown'
}

function peerVersion(name: string): string {
  const file = new URL(`../peers/node_modules/${name}/package.json`, import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8')).version
}

function medianSyncMs(): number {
  const folder = mkdtempSync(join(tmpdir(), 'decorum-bench-'))
  const file = openSync(join(folder, 'probe'), 'w')
  const block = Buffer.alloc(8_192)
  const durations = Array.from({ length: 200 }, () => {
    writeSync(file, block)
    const from = performance.now()
    fdatasyncSync(file)
    return performance.now() - from
  })
  closeSync(file)
  rmSync(folder, { recursive: true })
  return median(durations)
}
