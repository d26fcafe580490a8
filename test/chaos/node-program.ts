/**
 * One life of a node: a runtime on the real stores that writes down what happens to it, and may be
 * told a point at which to be struck down. It lives until it is told to stop, or does not.
 */
import { join } from 'node:path'
import type { SnapshotStore } from '../../src/actors/ports.ts'
import type { JobContext } from '../../src/jobs/define-job.ts'
import type { Submission } from '../../src/jobs/submission.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { defaultRetention } from '../../src/runtime/create-runtime.ts'
import { JobTypes } from '../../src/runtime/job-types.ts'
import { openStores } from '../../src/runtime/open-stores.ts'
import { systemBytes, systemChance } from '../../src/runtime/random.ts'
import { Runtime, type RuntimeLimits, runtimeLimits } from '../../src/runtime/runtime.ts'
import type { RuntimeEventMap } from '../../src/runtime/runtime-events.ts'
import { lockDirectory } from '../../src/runtime/store/directory-lock.ts'
import { type JobStore, StoreUnavailable } from '../../src/runtime/store/job-store.ts'
import { migrate } from '../../src/runtime/store/sqlite/migrate.ts'
import { openSqliteDatabase } from '../../src/runtime/store/sqlite/sqlite-database.ts'
import { sqliteStore } from '../../src/runtime/store/sqlite/sqlite-store.ts'
import { Chronicle } from './chronicle.ts'
import type { Witness } from './history.ts'
import { chaosJobs } from './jobs.ts'
import { type Strike, striker } from './strike.ts'
import { type Watch, watchedSnapshots, watchedStore, watchSnapshotTable } from './watched-stores.ts'

export interface NodePlan extends Witness {
  /** The file to write to. */
  readonly chronicle: string
  readonly data: string
  readonly databaseUrl?: string
  readonly redisUrl?: string
  readonly limits?: Partial<RuntimeLimits>
  readonly strike?: Strike
  /** Handed in one group after the other, while the jobs run. */
  readonly submissions?: readonly KeyedSubmission[]
}

export type KeyedSubmission = Submission & { readonly key: string }

/** What a node can be told while it lives. */
export type Order =
  | { readonly order: 'submit'; readonly submissions: readonly KeyedSubmission[] }
  | { readonly order: 'release' }
  /** SQLite only: the file may have this many pages more than it has now. */
  | { readonly order: 'limit'; readonly pages: number }
  | { readonly order: 'stop' }

const GROUP_MAX = 25

const told = [
  'node.enlisted',
  'node.leaseLost',
  'jobs.rescued',
  'job.lost',
  'outbox.relayed',
  'duty.failed',
  'duty.recovered',
] as const satisfies (keyof RuntimeEventMap)[]

interface Stores {
  readonly jobs: JobStore
  readonly snapshots: SnapshotStore
  limitPages(pages: number): void
  close(): Promise<void>
}

const plan: NodePlan = JSON.parse(process.argv[2] ?? '')
const chronicle = new Chronicle(plan.chronicle, { node: plan.node, life: plan.life })
const strike = striker(plan.strike, chronicle)
await live().catch(({ name, message }: Error) => {
  chronicle.write({ what: 'failed', name, message })
  process.exit(1)
})

async function live(): Promise<void> {
  const lock = lockDirectory(plan.data)
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const fences = new Map<string, number>()
  const stores = await openWatched({ chronicle, strike, fences })
  const limits = { ...runtimeLimits, ...plan.limits }
  const runtime = new Runtime({
    clock: systemClock,
    chance: systemChance,
    bytes: systemBytes,
    store: stores.jobs,
    snapshots: stores.snapshots,
    types: new JobTypes(
      chaosJobs({
        called: (context, state) => writeCall(context, state, fences),
        strike,
        released,
      }),
    ),
    node: { id: plan.node, role: 'all', address: null, version: '0' },
    limits,
    retention: defaultRetention,
    onListenerError(error) {
      throw error
    },
  })
  const lookForEnd = endWatch(stores.jobs)
  for (const name of told) runtime.on(name, (event) => tell(name, event))
  runtime.host.on('snapshots.unavailable', ({ during }) =>
    chronicle.write({ what: 'told', event: 'snapshots.unavailable', about: during }),
  )
  for (const name of ['job.settled', 'outbox.relayed', 'jobs.rescued', 'duty.recovered'] as const)
    runtime.on(name, lookForEnd.look)

  async function submit(submissions: readonly KeyedSubmission[]): Promise<void> {
    lookForEnd.hold()
    for (let from = 0; from < submissions.length; from += GROUP_MAX)
      await submitGroup(runtime, submissions.slice(from, from + GROUP_MAX))
    lookForEnd.letGo()
  }

  async function end(): Promise<void> {
    await runtime.end()
    await stores.close()
    lock.release()
    chronicle.write({ what: 'ended' })
    process.disconnect()
  }

  process.on('message', (message: Order) => {
    if (message.order === 'submit') void submit(message.submissions)
    else if (message.order === 'release') release()
    else if (message.order === 'limit') stores.limitPages(message.pages)
    else void end()
  })
  lookForEnd.hold()
  await runtime.start()
  await submit(plan.submissions ?? [])
  lookForEnd.letGo()
}

// ── stores ──────────────────────────────────────────────────────────────────────────────────────

async function openWatched(watch: Watch): Promise<Stores> {
  const { data, databaseUrl, redisUrl, limits } = plan
  const leaseMs = limits?.leaseMs ?? runtimeLimits.leaseMs
  if (databaseUrl !== undefined) {
    const opened = await openStores({ data, databaseUrl, redisUrl, clock: systemClock, leaseMs })
    return {
      jobs: watchedStore(opened.jobs, watch),
      snapshots: watchedSnapshots(opened.snapshots, strike),
      limitPages() {},
      close: () => opened.close(),
    }
  }
  // Opened by hand, because the table of snapshots and the room on the disk are to be got at.
  const database = openSqliteDatabase(join(data, 'decorum.db'))
  migrate(database, systemClock)
  watchSnapshotTable(database, strike)
  const store = sqliteStore(database, { clock: systemClock, limits: { leaseMs } })
  return {
    jobs: watchedStore(store, watch),
    snapshots: store.snapshots,
    limitPages(pages) {
      const { page_count: used } = database.prepare('PRAGMA page_count').get()!
      database.exec(`PRAGMA max_page_count = ${Number(used) + pages}`)
    },
    close: () => store.close(),
  }
}

// ── writing down ────────────────────────────────────────────────────────────────────────────────

function writeCall(context: JobContext, state: string, fences: ReadonlyMap<string, number>): void {
  const { id, type, attempt } = context.job
  const fence = fences.get(id) ?? 0
  const given = context.checkpointed ?? null
  chronicle.write({ what: 'called', id, type, state, attempt, fence, given })
}

function tell(event: (typeof told)[number], facts: object): void {
  const { id, duty, reason, error, recovered } = facts as Readonly<Record<string, unknown>>
  const about = [id, duty, reason, error, recovered && JSON.stringify(recovered)]
  chronicle.write({ what: 'told', event, about: about.filter(Boolean).map(String).join(', ') })
}

async function submitGroup(
  runtime: Runtime,
  submissions: readonly KeyedSubmission[],
): Promise<void> {
  chronicle.write(...submissions.map(({ key }) => ({ what: 'submitting' as const, key })))
  try {
    const receipts = await runtime.submitMany(submissions)
    chronicle.write(
      ...receipts.map(({ id }, index) => ({
        ...{ what: 'accepted' as const, key: submissions[index]!.key, id },
      })),
    )
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    chronicle.write({ what: 'refused', code: error.code, message: error.message })
  }
}

/** Writes down when nothing is left to do, looking whenever something has come to an end. */
function endWatch(store: JobStore): { look(): void; hold(): void; letGo(): void } {
  let held = 0
  let isLooking = false
  let isWanted = false

  async function isAllDone(): Promise<boolean> {
    const { live, outbox } = await store.counts()
    return live.queued + live.scheduled + live.running + outbox === 0
  }

  function look(): void {
    isWanted = true
    if (isLooking || held > 0) return
    isLooking = true
    isWanted = false
    isAllDone()
      // A store that is away is asked again when somebody has found it back.
      .catch(() => false)
      .then((isDone) => {
        isLooking = false
        if (isDone && held === 0) chronicle.write({ what: 'idle' })
        else if (isWanted) look()
      })
  }

  return {
    look,
    hold: () => void held++,
    letGo() {
      held--
      look()
    },
  }
}
