/**
 * A runtime for a program of one's own: opens the stores that the options name, and closes them.
 *
 *   const runtime = await createRuntime({ data: './data', jobs: [hello] })
 *   await runtime.start()
 *   await runtime.submit({ type: 'hello', body: { name: 'world' } })
 */
import type { Clock } from '../actors/ports.ts'
import type { AnyJob } from '../jobs/define-job.ts'
import { systemClock } from './clock.ts'
import { JobTypes } from './job-types.ts'
import { builtInJobs } from './load-jobs.ts'
import { nodeIdentity } from './node-identity.ts'
import { openStores } from './open-stores.ts'
import { systemBytes, systemChance } from './random.ts'
import { Runtime, type RuntimeLimits, runtimeLimits } from './runtime.ts'
import { lockDirectory } from './store/directory-lock.ts'
import type { NodeCard, Retention } from './store/job-store.ts'
import { version } from './version.ts'

export interface RuntimeOptions extends Partial<RuntimeLimits> {
  /** The data directory: the node's name and, without `databaseUrl`, the database. */
  readonly data: string
  /** PostgreSQL; without it the embedded SQLite. */
  readonly databaseUrl?: string | undefined
  /** Snapshots of jobs that run on PostgreSQL; without it they are kept there too. */
  readonly redisUrl?: string | undefined
  /** Besides the built-in types. */
  readonly jobs?: readonly AnyJob[]
  readonly role?: NodeCard['role']
  readonly address?: string | null
  readonly retention?: Partial<Retention>
  readonly clock?: Clock
  /** Somebody's code is about to run. */
  readonly onRun?: (id: string, type: string) => void
  onListenerError?(error: unknown): void
}

export const defaultRetention: Retention = {
  endedMs: 7 * 24 * 3_600_000,
  failedMs: 30 * 24 * 3_600_000,
  bytesMax: 10 * 1024 ** 3,
}

/** How long running jobs may take to finish when `stop` is not told otherwise. */
const GRACE_MS = 5_000

export interface OwnRuntime extends Runtime {
  /** Lets running jobs finish for `graceMs`, hands back the rest, closes everything. */
  stop(options?: { readonly graceMs?: number }): Promise<void>
}

/** Rejects with `StoreRefused` or `JobTypesRefused`, saying what to do. */
export async function createRuntime(options: RuntimeOptions): Promise<OwnRuntime> {
  const { clock = systemClock, jobs = [] } = options
  const types = new JobTypes([...builtInJobs, ...jobs])
  const { runtime, close } = await openRuntime({ ...options, types })
  return Object.assign(runtime, {
    async stop({ graceMs = GRACE_MS }: { readonly graceMs?: number } = {}) {
      const grace = Promise.withResolvers<void>()
      const cancel = clock.wakeAt(clock.now() + graceMs, grace.resolve)
      await Promise.race([runtime.drain(), grace.promise])
      cancel()
      try {
        await runtime.end()
      } finally {
        await close()
      }
    },
  })
}

export interface OpenRuntime {
  readonly runtime: Runtime
  /** The stores and the lock on the data directory; comes after the runtime has ended. */
  close(): Promise<void>
}

/** The same for who ends the runtime in steps of their own; rejects with `StoreRefused`. */
export async function openRuntime({
  types,
  ...options
}: Omit<RuntimeOptions, 'jobs'> & { readonly types: JobTypes }): Promise<OpenRuntime> {
  const { clock = systemClock, role = 'all', address = null } = options
  const lock = lockDirectory(options.data)
  try {
    const id = await nodeIdentity(options.data, systemBytes)
    const { concurrency = runtimeLimits.concurrency } = options
    // One for each that runs, unless said otherwise: the next is at hand when one ends.
    const limits = { ...runtimeLimits, prefetch: concurrency, ...given(options) }
    const stores = await openStores({ ...options, clock, leaseMs: limits.leaseMs })
    const runtime = new Runtime({
      clock,
      chance: systemChance,
      bytes: systemBytes,
      store: stores.jobs,
      snapshots: stores.snapshots,
      types,
      node: { id, role, address, version: version.version },
      limits,
      retention: { ...defaultRetention, ...options.retention },
      ...(options.onRun && { onRun: options.onRun }),
      onListenerError: options.onListenerError ?? (() => {}),
    })
    return {
      runtime,
      async close() {
        try {
          await stores.close()
        } finally {
          lock.release()
        }
      },
    }
  } catch (error) {
    lock.release()
    throw error
  }
}

function given(options: Partial<RuntimeLimits>): Partial<RuntimeLimits> {
  return Object.fromEntries(
    Object.keys(runtimeLimits)
      .map((name) => [name, options[name as keyof RuntimeLimits]])
      .filter(([, value]) => value !== undefined),
  )
}
