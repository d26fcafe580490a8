/**
 * A whole runtime over a real SQLite store in memory, on time that moves only when a test says so.
 * Turns run by themselves, so that whoever waits for an event without moving the clock gets it.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach } from 'vitest'
import { VirtualClock } from '../../src/actors/virtual-clock.ts'
import type { AnyJob, JobContext } from '../../src/jobs/define-job.ts'
import { JobTypes } from '../../src/runtime/job-types.ts'
import { systemBytes } from '../../src/runtime/random.ts'
import { Runtime, type RuntimeLimits, runtimeLimits } from '../../src/runtime/runtime.ts'
import type { RuntimeEventMap } from '../../src/runtime/runtime-events.ts'
import type { PoliteFetch } from '../../src/runtime/simple-fetch.ts'
import type { JobStore } from '../../src/runtime/store/job-store.ts'
import { openSqliteStore, type SqliteStore } from '../../src/runtime/store/sqlite/sqlite-store.ts'

export const START_AT = Date.UTC(2026, 0, 1)

export class TurningClock extends VirtualClock {
  override soon(work: () => void): void {
    super.soon(work)
    setImmediate(() => this.settle())
  }
}

export interface TestRuntimeOptions {
  readonly limits?: Partial<RuntimeLimits>
  readonly nodeId?: string
  readonly politeFetch?: PoliteFetch
  readonly chance?: () => number
  readonly onRun?: () => void
  /** Stands between the runtime and the store. */
  readonly wrap?: (store: JobStore) => JobStore
}

type Name = keyof RuntimeEventMap
type Told = { [N in Name]: { readonly what: N } & RuntimeEventMap[N] }[Name]

/** Long enough for anything that is bound to happen; what is not must fail, not hang. */
const TURNS_MAX = 20_000

export class TestRuntime {
  readonly clock: TurningClock
  readonly store: SqliteStore
  readonly runtime: Runtime
  /** What it has told so far, of every kind. */
  readonly told: Told[] = []
  readonly listenerErrors: unknown[] = []

  constructor(
    clock: TurningClock,
    store: SqliteStore,
    jobs: readonly AnyJob[],
    options: TestRuntimeOptions,
  ) {
    this.clock = clock
    this.store = store
    this.runtime = new Runtime({
      clock,
      chance: options.chance ?? (() => 0.5),
      bytes: systemBytes,
      store: options.wrap?.(store) ?? store,
      snapshots: store.snapshots,
      types: new JobTypes(jobs),
      node: { id: options.nodeId ?? 'node-a', role: 'all', address: null, version: '0' },
      limits: { ...runtimeLimits, ...options.limits },
      retention: { endedMs: 1e12, failedMs: 1e12, bytesMax: 1e12 },
      ...(options.onRun && { onRun: options.onRun }),
      ...(options.politeFetch && { politeFetch: options.politeFetch }),
      onListenerError: (error) => this.listenerErrors.push(error),
    })
    for (const name of eventNames)
      this.runtime.on(name, (event) => this.told.push({ what: name, ...event } as Told))
  }

  /** What has been told of one kind, about one job if one is named. */
  of<N extends Name>(name: N, id?: string): RuntimeEventMap[N][] {
    return this.told.filter(
      (event) => event.what === name && (id === undefined || ('id' in event && event.id === id)),
    ) as unknown as RuntimeEventMap[N][]
  }

  async submit(type: string, body?: unknown, more: object = {}): Promise<string> {
    const { id } = await this.runtime.submit({ type, body, ...more })
    return id
  }

  /** Turns without moving time. */
  async until(isSo: () => boolean, what: string): Promise<void> {
    for (let turns = 0; !isSo(); turns++) {
      if (turns > TURNS_MAX) throw new Error(`It never came about that ${what}.`)
      await turn()
    }
  }

  /** Moves from deadline to deadline, with turns in between. */
  async forwardUntil(isSo: () => boolean, what: string): Promise<void> {
    for (let steps = 0; !isSo(); steps++) {
      if (steps > TURNS_MAX) throw new Error(`It never came about that ${what}.`)
      await this.rest()
      if (!isSo()) this.clock.advanceToNext()
    }
  }

  /** Lets this much time pass, and everything happen that happens in it. */
  async pass(ms: number): Promise<void> {
    const end = this.clock.now() + ms
    await this.rest()
    while (this.clock.now() < end) {
      this.clock.advance(Math.min(100, end - this.clock.now()))
      await this.rest()
    }
  }

  /** A good many turns: enough for an answer of the store and what follows from it. */
  async rest(turns = 12): Promise<void> {
    for (let index = 0; index < turns; index++) await turn()
  }

  /** How it ended, once it has; moves time where it has to. */
  async ended(id: string): Promise<RuntimeEventMap['job.settled']['as']> {
    const final = () => this.of('job.settled', id).find(({ as }) => !isBack(as))
    await this.forwardUntil(() => final() !== undefined, `job ${id} ended`)
    return final()!.as
  }

  async started(id: string): Promise<void> {
    await this.until(() => this.of('job.started', id).length > 0, `job ${id} started`)
  }
}

function isBack(as: RuntimeEventMap['job.settled']['as']): boolean {
  return as === 'requeued' || as === 'parked'
}

const eventNames: readonly Name[] = [
  'jobs.submitted',
  'jobs.claimed',
  'job.started',
  'job.logged',
  'job.progressed',
  'job.settled',
  'job.lost',
  'job.deaf',
  'node.enlisted',
  'node.leaseLost',
  'jobs.rescued',
  'outbox.relayed',
  'schedules.fired',
  'schedule.refused',
  'jobs.pruned',
  'tasks.requeued',
  'queue.paused',
  'queue.resumed',
  'duty.failed',
  'duty.recovered',
]

const closing: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** Not started. Several on one database: hand the first one's store on. */
export async function testRuntime(
  jobs: readonly AnyJob[],
  options: TestRuntimeOptions = {},
  shared?: Pick<TestRuntime, 'clock' | 'store'>,
): Promise<TestRuntime> {
  const clock = shared?.clock ?? new TurningClock(START_AT)
  const store = shared?.store ?? (await openSqliteStore({ path: ':memory:', clock }))
  if (!shared) closing.push(() => store.close())
  const made = new TestRuntime(clock, store, jobs, options)
  // As a killed process: nothing of it may speak into the next test.
  closing.unshift(async () => made.runtime.host.halt())
  return made
}

export async function startedRuntime(
  jobs: readonly AnyJob[],
  options: TestRuntimeOptions = {},
  shared?: Pick<TestRuntime, 'clock' | 'store'>,
): Promise<TestRuntime> {
  const made = await testRuntime(jobs, options, shared)
  await made.runtime.start()
  return made
}

/** A promise for the test to keep. */
export function gate<T = void>() {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  return { promise, open: resolve, fail: reject }
}

/** A job of type `it`, with the contexts of its calls. */
export function countedJob(
  run: (context: JobContext<never>, calls: number) => unknown,
  more: object = {},
) {
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

/** Rejects when it is told to stop, as fetch does. */
export function untilStopped({ signal }: JobContext): Promise<never> {
  return new Promise((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
  )
}
