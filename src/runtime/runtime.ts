/**
 * All the parts that run jobs, put together over a store. It opens nothing and closes nothing:
 * create-runtime.ts does.
 *
 * Starting: enlist (which takes back what an earlier life of this node left running), then claim.
 * Stopping: begin nothing more, hand back what has not begun, let the rest finish for a while, hand
 * back what is left without costing it an attempt, write every snapshot, leave.
 */
import { ActorHost } from '../actors/host.ts'
import type { Chance, Clock, SnapshotStore } from '../actors/ports.ts'
import { stateName } from '../actors/statechart.ts'
import { TypedEvents } from '../actors/typed-events.ts'
import {
  type JobDispatcher,
  type Submission,
  type SubmissionReceipt,
  SubmissionRefused,
} from '../jobs/submission.ts'
import { auditor } from './auditor.ts'
import { claimer } from './claimer.ts'
import { DepthGauge } from './depth-gauge.ts'
import { Dispatcher } from './dispatcher.ts'
import { Duty, type DutyOptions, type DutyWorld } from './duty.ts'
import { jobIdMaker } from './job-id.ts'
import type { JobTypes } from './job-types.ts'
import { type JobView, jobView } from './job-view.ts'
import { JobWorker } from './job-worker.ts'
import { Lease } from './lease.ts'
import type { RandomBytes } from './random.ts'
import type { RuntimeEventMap } from './runtime-events.ts'
import { dueSubmission, nextInstant, ScheduleRefused } from './schedule.ts'
import { type PoliteFetch, simpleFetch } from './simple-fetch.ts'
import type {
  CancelVerdict,
  JobCounts,
  JobFilter,
  JobPage,
  JobStore,
  NodeCard,
  NodeRecord,
  PauseScope,
  Retention,
  ScheduleCard,
  ScheduleRecord,
  TaskStore,
} from './store/job-store.ts'
import { relay, rescuer, scheduler, stager, sweeper, type UpkeepParts } from './upkeep-duties.ts'

export interface RuntimeParts {
  readonly clock: Clock
  readonly chance: Chance
  readonly bytes: RandomBytes
  readonly store: JobStore
  readonly snapshots: SnapshotStore
  readonly types: JobTypes
  readonly node: NodeCard
  readonly limits: RuntimeLimits
  readonly retention: Retention
  readonly politeFetch?: PoliteFetch
  /** Somebody's code is about to run. */
  readonly onRun?: (id: string, type: string) => void
  /** Where a listener that throws is reported. */
  onListenerError(error: unknown): void
}

export interface RuntimeLimits {
  /** Jobs that run at a time on this node. */
  readonly concurrency: number
  /** Jobs claimed ahead, so that the next one is at hand. */
  readonly prefetch: number
  /** Jobs of one domain held at a time. */
  readonly domainJobsMax: number
  /** Jobs waiting in the queue, over which submissions are refused. */
  readonly depthMax: number
  readonly leaseMs: number
}

export const runtimeLimits: RuntimeLimits = {
  concurrency: 100,
  prefetch: 100,
  domainJobsMax: 50,
  depthMax: 5_000_000,
  leaseMs: 30_000,
}

const CLAIM_BATCH_MAX = 1_000
const POLL_MS = 1_000
const EVICT_EVERY_MS = 10_000
/** For telling the store what is handed back. */
const END_MS_MAX = 5_000

export class Runtime implements JobDispatcher {
  readonly host: ActorHost
  readonly #parts: RuntimeParts
  readonly #events: TypedEvents<RuntimeEventMap>
  readonly #dispatcher: Dispatcher
  readonly #worker: JobWorker
  readonly #lease: Lease
  readonly #duties: readonly Duty[]
  readonly #claimer: Duty
  readonly #stager: Duty
  readonly #canceller: Duty
  #starting: Promise<void> | undefined

  constructor(parts: RuntimeParts) {
    const { clock, chance, store, snapshots, types, node, limits } = parts
    this.#parts = parts
    this.#events = new TypedEvents(parts.onListenerError)
    this.host = new ActorHost({
      clock,
      chance,
      snapshots,
      onListenerError: parts.onListenerError,
    })
    const events = this.#events
    const politeFetch = parts.politeFetch ?? simpleFetch(clock)
    const makeId = jobIdMaker(clock, parts.bytes)
    this.#dispatcher = new Dispatcher({
      clock,
      intake: store,
      types,
      makeId,
      depth: new DepthGauge({ clock, desk: store, depthMax: limits.depthMax }),
      onAccepted: (receipts) => {
        const duplicates = receipts.filter(({ isNew }) => !isNew).length
        const jobs = receipts.length - duplicates
        events.emit('jobs.submitted', () => ({ at: clock.now(), jobs, duplicates }))
        this.#claimer.wake()
      },
    })
    this.#worker = new JobWorker({
      clock,
      host: this.host,
      queue: store,
      types,
      nodeId: node.id,
      events,
      fetch: politeFetch.fetch,
      concurrency: limits.concurrency,
      prefetch: limits.prefetch,
      domainJobsMax: limits.domainJobsMax,
      onRun: parts.onRun ?? (() => {}),
      onRoom: () => this.#claimer.wake(),
      onDelayed: (delayMs) => {
        if (delayMs === 0) this.#claimer.wake()
        else this.#stager.wakeIn(delayMs)
      },
    })
    const world: DutyWorld = {
      clock,
      onFailed: (duty, error, failures) =>
        events.emit('duty.failed', () => ({ at: clock.now(), duty, error, failures })),
      onRecovered: (duty) => events.emit('duty.recovered', () => ({ at: clock.now(), duty })),
    }
    this.#lease = new Lease({
      clock,
      registry: store,
      node,
      events,
      duties: world,
      leaseMs: limits.leaseMs,
      loseAll: () => this.#worker.loseAll(),
      onEnlisted: () => this.#claimer.wake(),
    })
    const upkeep: UpkeepParts = {
      clock,
      store,
      events,
      nodeId: node.id,
      retention: parts.retention,
      read: (submission) => this.#dispatcher.read(submission),
      readOutboxRow: this.#dispatcher.readOutboxRow,
      wakeClaimer: () => this.#claimer.wake(),
    }
    const duty = (options: DutyOptions) => new Duty(options, world)
    this.#claimer = duty(
      claimer({
        queue: store,
        worker: this.#worker,
        nodeId: node.id,
        types: types.names,
        pollMs: POLL_MS,
        batchMax: CLAIM_BATCH_MAX,
        epoch: () => this.#lease.epoch,
        refusedDomains: politeFetch.restingDomains,
        onClaimed: (jobs) => events.emit('jobs.claimed', () => ({ at: clock.now(), jobs })),
      }),
    )
    this.#stager = duty(stager(upkeep))
    this.#canceller = duty({
      name: 'canceller',
      everyMs: POLL_MS,
      runOnce: () => this.#cancelRequested(),
    })
    this.#duties = [
      this.#claimer,
      this.#stager,
      this.#canceller,
      ...[relay(upkeep), scheduler(upkeep), rescuer(upkeep), sweeper(upkeep)].map(duty),
      duty(auditor({ store, worker: this.#worker, nodeId: node.id })),
      duty({
        name: 'evictor',
        everyMs: EVICT_EVERY_MS,
        runOnce: async () => this.host.evictIdle(),
      }),
    ]
    store.onHint((hint) => (hint === 'jobs' ? this.#claimer : this.#canceller).wake())
  }

  get nodeId(): string {
    return this.#parts.node.id
  }

  get types(): JobTypes {
    return this.#parts.types
  }

  on<N extends keyof RuntimeEventMap>(
    name: N,
    listener: (event: RuntimeEventMap[N]) => void,
  ): () => void {
    return this.#events.on(name, listener)
  }

  // ── life ────────────────────────────────────────────────────────────────────────────────────

  /** Submitting works without it; a node that only takes jobs in never starts. */
  start(): Promise<void> {
    this.#starting = this.#begin()
    return this.#starting
  }

  /** Begins nothing more and gives back what has not begun; resolves when nothing runs. */
  async drain(): Promise<void> {
    // First of all: a claimer that finds room goes on as long as there is something to claim.
    this.#worker.refuse()
    // Told to stop while it starts: what is begun afterwards would go on for ever.
    await this.#starting?.catch(() => {})
    await this.#claimer.stop()
    await this.#worker.idle()
  }

  /** Hands back what still runs, writes every snapshot, leaves. A store that is away is left so. */
  async end(): Promise<void> {
    const { clock } = this.#parts
    const drained = this.drain()
    this.#worker.release()
    const cancel = clock.wakeAt(clock.now() + END_MS_MAX, () => this.#worker.abandon())
    await drained
    cancel()
    await Promise.all(this.#duties.map((duty) => duty.stop()))
    await this.#dispatcher.idle()
    await this.host.stop()
    await this.#lease.end()
  }

  // ── jobs ────────────────────────────────────────────────────────────────────────────────────

  submit(submission: Submission): Promise<SubmissionReceipt> {
    return this.#dispatcher.submit(submission)
  }

  submitMany(submissions: readonly Submission[]): Promise<readonly SubmissionReceipt[]> {
    return this.#dispatcher.submitMany(submissions)
  }

  async get(id: string): Promise<JobView | undefined> {
    const { store } = this.#parts
    const [record, attempts] = await Promise.all([store.get(id), store.pastAttempts(id)])
    const actor = this.#worker.peek(id)
    return record && jobView(record, attempts, actor ? stateName(actor.value) : null)
  }

  list(filter: JobFilter, page: { after: string | null; jobsMax: number }): Promise<JobPage> {
    return this.#parts.store.list(filter, page)
  }

  stats(): Promise<JobCounts> {
    return this.#parts.store.counts()
  }

  async cancel(id: string): Promise<CancelVerdict> {
    const verdict = await this.#parts.store.cancel(id)
    if (verdict === 'requested') this.#worker.cancel(id)
    if (verdict === 'cancelled') await this.#tellCancelled(id)
    return verdict
  }

  /** Final jobs go back to the queue with all their attempts; gives their ids. */
  async replay(
    filter: JobFilter,
    { body, jobsMax = 1_000 }: { body?: unknown; jobsMax?: number } = {},
  ): Promise<readonly string[]> {
    const { store } = this.#parts
    const ids =
      body === undefined
        ? await store.replay(filter, { jobsMax })
        : await this.#replayEdited(filter, body, jobsMax)
    this.#claimer.wake()
    return ids
  }

  /** A body fits one type, so only jobs of the first one's type are taken. */
  async #replayEdited(
    filter: JobFilter,
    body: unknown,
    jobsMax: number,
  ): Promise<readonly string[]> {
    const { store } = this.#parts
    const [first] = (await store.list(filter, { after: null, jobsMax: 1 })).jobs
    if (!first) return []
    const { type } = first
    const job = this.#dispatcher.read({ type, body, domain: first.domain || undefined })
    if ('refusal' in job) throw new SubmissionRefused([{ index: 0, message: job.refusal }])
    return store.replay({ ...filter, type }, { body: job.body, jobsMax })
  }

  async pause(scope: PauseScope = { kind: 'all' }): Promise<void> {
    await this.#parts.store.pause(scope)
    this.#events.emit('queue.paused', () => ({ at: this.#parts.clock.now(), scope }))
  }

  async resume(scope: PauseScope = { kind: 'all' }): Promise<void> {
    await this.#parts.store.resume(scope)
    this.#events.emit('queue.resumed', () => ({ at: this.#parts.clock.now(), scope }))
    this.#claimer.wake()
  }

  pauses(): Promise<readonly PauseScope[]> {
    return this.#parts.store.pauses()
  }

  nodes(): Promise<readonly NodeRecord[]> {
    return this.#parts.store.nodes()
  }

  get tasks(): TaskStore {
    return this.#parts.store.tasks
  }

  // ── schedules ───────────────────────────────────────────────────────────────────────────────

  /** Rejects with `ScheduleRefused` when it cannot be read, or its job would not be accepted. */
  async putSchedule(schedule: ScheduleCard): Promise<void> {
    const { clock, store } = this.#parts
    const nextAt = nextInstant(schedule.cron, schedule.timeZone, clock.now())
    const job = this.#dispatcher.read(dueSubmission({ ...schedule, nextAt, lastAt: null }))
    if ('refusal' in job) throw new ScheduleRefused(job.refusal)
    await store.putSchedule(schedule, nextAt)
  }

  removeSchedule(name: string): Promise<boolean> {
    return this.#parts.store.removeSchedule(name)
  }

  schedules(): Promise<readonly ScheduleRecord[]> {
    return this.#parts.store.schedules()
  }

  async #begin(): Promise<void> {
    await this.#lease.begin()
    for (const duty of this.#duties) duty.start()
  }

  /** It was waiting, so no worker tells of its end. */
  async #tellCancelled(id: string): Promise<void> {
    const record = await this.#parts.store.get(id)
    if (!record) return
    const { type, domain, attempt, fence } = record
    const at = this.#parts.clock.now()
    this.#events.emit('job.settled', () => ({
      ...{ id, type, domain, attempt, fence, at },
      as: 'cancelled',
      error: null,
    }))
  }

  async #cancelRequested(): Promise<void> {
    if (this.#worker.size === 0) return
    for (const id of await this.#parts.store.cancellations(this.nodeId)) this.#worker.cancel(id)
  }
}
