/**
 * The durable truth about jobs, as the runtime sees it. Two implementations (SQLite, PostgreSQL)
 * pass one contract suite, test/contracts/job-store.ts.
 *
 * What every implementation promises
 * - When a call has answered, what it says is on the disk; when it rejects with `StoreUnavailable`,
 *   the caller may repeat it: every call is idempotent or guarded.
 * - The store's clock decides about leases and what is due; callers pass durations, not instants.
 *   (`runAt` of a submission is a wish in wall-clock time and is compared with that same clock.)
 * - A running job is changed only by the holder of its newest fence.
 * - Times are milliseconds since the epoch, numbers. Bodies, results and progress are JSON texts the
 *   store never reads.
 *
 * The states of a job, and who moves it
 *
 *   scheduled ──promote──► queued ──claim──► running ──settle──► done skipped failed dead cancelled
 *       ▲                    ▲                  │
 *       └────── settle ──────┴── settle, rescue, enlist (its node came back) ◄──┘
 *
 *   replay takes a final job back to queued; cancel ends one that does not run.
 */

export const liveStates = ['queued', 'scheduled', 'running'] as const
export const finalStates = ['done', 'skipped', 'failed', 'dead', 'cancelled'] as const
export type LiveState = (typeof liveStates)[number]
export type FinalState = (typeof finalStates)[number]
export type JobState = LiveState | FinalState

// ── submitting ──────────────────────────────────────────────────────────────────────────────────

/** A job as it is accepted: complete, checked, with its id. */
export interface NewJob {
  /** A UUID that sorts by the time of its making. */
  readonly id: string
  readonly type: string
  readonly version: string
  readonly body: string
  /** Unique among all jobs the store still has, finished ones included. */
  readonly key: string | null
  /** The server it will call, or '' when it calls none in particular. */
  readonly domain: string
  /** Lower goes first, within its type and domain. */
  readonly priority: number
  /** Null: as soon as possible. */
  readonly runAt: number | null
  readonly attemptsMax: number
  /** The task whose result this job brings; see `TaskStore`. */
  readonly taskId: string | null
  /** Null: a trace of its own, named after the job; see tracing.ts. */
  readonly traceId: string | null
  readonly spanId: string | null
}

export interface Receipt {
  readonly id: string
  /** False when a job with the same key was there before: `id` is that job's. */
  readonly isNew: boolean
}

// ── claiming ────────────────────────────────────────────────────────────────────────────────────

/**
 * Jobs wait in lanes, one for each type and domain, and lanes take turns: a batch holds an equal
 * share of every lane it meets, so a lane with 100,000 jobs delays another lane's single job by at
 * most one batch. Within a lane: by priority, then `runAt`, then the order of submission.
 *
 * A job that has been running in `suspectCrashes` crashes is a suspect. Suspects wait in lanes of
 * their own, and a node runs one at a time: the one that kills its process is found without taking
 * its neighbours with it.
 */
export interface ClaimRequest {
  readonly nodeId: string
  readonly epoch: number
  readonly jobsMax: number
  /** Types this node can run; jobs of others stay where they are. */
  readonly types: readonly string[]
  /** Domains that cannot take a request now. */
  readonly refusedDomains: readonly string[]
  /** At most this many of one lane whose jobs call a server, so that a batch is not all one's. */
  readonly domainJobsMax: number
  /** May one suspect be among them? */
  readonly takesSuspect: boolean
  /** The lane after which to go on, from the previous answer; null begins with the first. */
  readonly after: string | null
}

export interface Claim {
  readonly jobs: readonly ClaimedJob[]
  /** Null when the last lane has been reached: whoever finds nothing from null to null may rest. */
  readonly next: string | null
}

export interface ClaimedJob {
  readonly id: string
  readonly type: string
  readonly version: string
  readonly body: string
  readonly key: string | null
  readonly domain: string
  readonly priority: number
  readonly createdAt: number
  /** This one included: counted at the claim, so that a killed worker gets no free attempt. */
  readonly attempt: number
  readonly attemptsMax: number
  readonly crashes: number
  /** Counts up with each claim. */
  readonly fence: number
  /** The first fence of this life: a replay begins another, to which older snapshots are nothing. */
  readonly sinceFence: number
  readonly taskId: string | null
  /** It has a task, and that task is gone or no longer QUEUED: there is nothing to do. */
  readonly isObsolete: boolean
  readonly traceId: string | null
  readonly spanId: string | null
}

// ── settling ────────────────────────────────────────────────────────────────────────────────────

export interface StoredError {
  readonly code: string
  readonly message: string
}

export type Settlement = { readonly id: string; readonly fence: number } & (
  | { readonly kind: 'done'; readonly result: string }
  | { readonly kind: 'skipped'; readonly reason: string }
  | { readonly kind: 'failed' | 'dead'; readonly error: StoredError }
  | { readonly kind: 'cancelled' }
  /** Back to the queue after the delay; the attempt stays counted. */
  | { readonly kind: 'requeue'; readonly delayMs: number; readonly error: StoredError }
  /** Back to the queue after the delay; the attempt is given back. */
  | { readonly kind: 'park'; readonly delayMs: number; readonly reason: string }
)

/**
 * settled    committed
 * overtaken  its task had changed meanwhile: the job is recorded as skipped, the task is untouched
 * lost       the fence is not the newest, or the job does not run: nothing was written
 *
 * Repeating a settlement that was committed answers `settled` again as long as nobody has claimed
 * the job since: a lost answer must not look like a lost lease.
 */
export type SettleVerdict = 'settled' | 'overtaken' | 'lost'

/** What a running job tells the store on its way. */
export interface JobNote {
  readonly id: string
  readonly fence: number
  /** The number the attempt under way has: set, never added, because notes may be repeated. */
  readonly attempt?: number
  readonly progress?: string
}

// ── looking and steering ────────────────────────────────────────────────────────────────────────

export interface JobRecord extends Omit<ClaimedJob, 'isObsolete' | 'sinceFence'> {
  readonly state: JobState
  readonly runAt: number
  readonly startedAt: number | null
  readonly finishedAt: number | null
  /** The node that runs it, or ran it last. */
  readonly nodeId: string | null
  readonly isCancelRequested: boolean
  readonly result: string | null
  readonly progress: string | null
  readonly error: StoredError | null
  /** Why it waits or was skipped, in words. */
  readonly reason: string | null
}

/** An attempt that did not end the job: it failed, was given back, or its node died. */
export interface PastAttempt {
  readonly attempt: number
  readonly fence: number
  readonly nodeId: string
  readonly startedAt: number
  readonly endedAt: number
  readonly kind: 'requeue' | 'park' | 'crash' | 'replay'
  readonly error: StoredError | null
}

export interface JobFilter {
  readonly ids?: readonly string[]
  readonly states?: readonly JobState[]
  readonly type?: string
  readonly domain?: string
  /** Found in the key or in the error. */
  readonly text?: string
}

export interface JobPage {
  readonly jobs: readonly JobRecord[]
  /** For the next page; null on the last. Newest first. */
  readonly next: string | null
}

export type CancelVerdict =
  | 'cancelled'
  /** It runs: its node is told, and settles it. */
  | 'requested'
  /** It has ended already. */
  | 'final'
  | 'unknown'

export type PauseScope =
  | { readonly kind: 'all' }
  | { readonly kind: 'type'; readonly name: string }
  | { readonly kind: 'domain'; readonly name: string }

export interface JobCounts {
  /** Exact, at the moment of asking. */
  readonly live: Readonly<Record<LiveState, number>>
  /** Ended so far and since the store was made; pruning does not lower them. */
  readonly ended: Readonly<Record<FinalState, number>>
  readonly outbox: number
  /** When the oldest queued job became due, or null. */
  readonly oldestQueuedAt: number | null
}

// ── nodes ───────────────────────────────────────────────────────────────────────────────────────

export interface NodeCard {
  /** Survives a restart of the node. */
  readonly id: string
  readonly role: 'all' | 'api' | 'worker'
  readonly address: string | null
  readonly version: string
}

export interface NodeRecord extends NodeCard {
  readonly startedAt: number
  readonly beatAt: number
  readonly isAlive: boolean
  readonly running: number
}

export interface Enlistment {
  /** Counts up with each enlistment and each rescue: an older one can no longer beat or claim. */
  readonly epoch: number
  readonly recovered: Recovery
}

/** What became of running jobs whose node stopped without an answer. */
export interface Recovery {
  readonly requeued: number
  /** Dead-lettered: crashed too often, or no attempt left. */
  readonly dead: readonly string[]
  /** Cancelled meanwhile. */
  readonly cancelled: number
}

// ── outbox, schedules, upkeep ───────────────────────────────────────────────────────────────────

/** A row that somebody wrote in a transaction of their own. */
export interface OutboxRow {
  readonly id: number
  readonly type: string
  readonly body: string
  readonly key: string | null
  readonly domain: string | null
  readonly priority: number | null
  readonly runAt: number | null
  readonly attemptsMax: number | null
  readonly taskId: string | null
}

/** Pure: makes a job of a row, or says in words why that is impossible. */
export type ReadOutboxRow = (row: OutboxRow) => NewJob | { readonly refusal: string }

export interface Relayed {
  readonly moved: number
  /** Kept in the outbox with the reason, never tried again by itself. */
  readonly refused: number
}

export interface ScheduleCard {
  readonly name: string
  readonly cron: string
  /** An IANA name, such as Europe/Berlin. */
  readonly timeZone: string
  readonly type: string
  readonly body: string
  readonly domain: string
  readonly priority: number
  readonly isPaused: boolean
}

export interface ScheduleRecord extends ScheduleCard {
  readonly nextAt: number
  readonly lastAt: number | null
}

/**
 * Pure: the job to submit for the instant that is due, and the next instant after `now`. Without a
 * job nothing is submitted, and the schedule still moves on.
 */
export type FireSchedule = (
  schedule: ScheduleRecord,
  now: number,
) => { readonly job: NewJob | null; readonly nextAt: number }

export interface Retention {
  /** How long done, skipped and cancelled jobs are kept. */
  readonly endedMs: number
  /** How long failed and dead jobs are kept. */
  readonly failedMs: number
  /** The oldest ended jobs go first when the store is larger than this. */
  readonly bytesMax: number
}

// ── the port ────────────────────────────────────────────────────────────────────────────────────

export interface JobIntake {
  /** All of them or, on an error, none. In the order of `jobs`. */
  add(jobs: readonly NewJob[]): Promise<readonly Receipt[]>
}

export interface JobQueue {
  /** Answers no jobs when the node's epoch is not its newest. */
  claim(request: ClaimRequest): Promise<Claim>
  /** Each by itself; the answers come in the order of the settlements. */
  settle(nodeId: string, settlements: readonly Settlement[]): Promise<readonly SettleVerdict[]>
  note(notes: readonly JobNote[]): Promise<readonly ('noted' | 'lost')[]>
  /** Makes scheduled jobs that are due ready; says when the next one will be. */
  promote(jobsMax: number): Promise<{ promoted: number; nextDueInMs: number | null }>
  /** Running jobs of this node that somebody wants cancelled. */
  cancellations(nodeId: string): Promise<readonly string[]>
}

export interface JobDesk {
  get(id: string): Promise<JobRecord | undefined>
  pastAttempts(id: string): Promise<readonly PastAttempt[]>
  list(filter: JobFilter, page: { after: string | null; jobsMax: number }): Promise<JobPage>
  counts(): Promise<JobCounts>
  /** Queued ones by domain, the fullest first. */
  lanes(lanesMax: number): Promise<readonly { type: string; domain: string; queued: number }[]>
  cancel(id: string): Promise<CancelVerdict>
  /**
   * Final jobs go back to the queue with all their attempts, and a task that failed or was cancelled
   * with its job is QUEUED again; the others are left alone. Without states: dead, failed, cancelled.
   */
  replay(filter: JobFilter, options: { body?: string; jobsMax: number }): Promise<readonly string[]>
  pause(scope: PauseScope): Promise<void>
  resume(scope: PauseScope): Promise<void>
  pauses(): Promise<readonly PauseScope[]>
}

export interface NodeRegistry {
  /** Takes back what an earlier life of this node was running. */
  enlist(node: NodeCard): Promise<Enlistment>
  /** Renews the lease of every job this node runs. `lost`: they have been given to others. */
  beat(nodeId: string, epoch: number): Promise<'renewed' | 'lost'>
  /** Takes back the jobs of nodes whose lease has ended. */
  rescue(jobsMax: number): Promise<Recovery>
  leave(nodeId: string, epoch: number): Promise<void>
  nodes(): Promise<readonly NodeRecord[]>
  /** Ids of the jobs that, for the store, this node runs. */
  runningOn(nodeId: string, jobsMax: number): Promise<readonly { id: string; fence: number }[]>
}

export interface Upkeep {
  /** Exactly once, and late committers are not skipped: rows are taken, not passed by. */
  relay(rowsMax: number, read: ReadOutboxRow): Promise<Relayed>
  putSchedule(schedule: ScheduleCard, nextAt: number): Promise<void>
  removeSchedule(name: string): Promise<boolean>
  schedules(): Promise<readonly ScheduleRecord[]>
  /** Each due instant is submitted once, whichever node does it. */
  fireSchedules(fire: FireSchedule): Promise<{ fired: number; nextDueInMs: number | null }>
  /** Removes at most `jobsMax` ended jobs. */
  prune(retention: Retention, jobsMax: number): Promise<{ pruned: number }>
  /** True for one node at a time, for `holdMs` from now: who may do what one node should do. */
  takeTurn(duty: string, nodeId: string, holdMs: number): Promise<boolean>
}

export interface JobStore extends JobIntake, JobQueue, JobDesk, NodeRegistry, Upkeep {
  readonly tasks: TaskStore
  /** Called, sooner or later or never, when there may be something to claim or to cancel. */
  onHint(listener: (hint: 'jobs' | 'cancel') => void): () => void
  close(): Promise<void>
}

// ── tasks: what jobs bring results for ──────────────────────────────────────────────────────────

export const taskStates = [
  'PENDING',
  'QUEUED',
  'COMPLETED',
  'REVIEW',
  'FAILED',
  'CANCELLED',
] as const
export type TaskState = (typeof taskStates)[number]

export interface NewTask {
  readonly id: string
  /** What it belongs to, and is queued, cancelled and deleted with. */
  readonly groupId: string
  /** The job that does it. */
  readonly type: string
  readonly body: string
  readonly domain: string
  readonly priority: number
}

export interface TaskRecord extends NewTask {
  readonly state: TaskState
  readonly updatedAt: number
  readonly result: string | null
  readonly error: StoredError | null
}

/**
 * A job with a task writes its result only where the task is still QUEUED, in the transaction of its
 * own outcome: done → COMPLETED with the result, failed or dead → FAILED with the error. A cancelled
 * or skipped job leaves its task as it is, except that cancelling the job cancels the task.
 */
export interface TaskStore {
  /** Ids that exist already are left as they are. */
  put(tasks: readonly NewTask[]): Promise<void>
  get(id: string): Promise<TaskRecord | undefined>
  counts(groupId: string): Promise<Readonly<Record<TaskState, number>>>
  /** PENDING → QUEUED, and a row in the outbox for each, in one transaction; at most `tasksMax`. */
  queue(groupId: string, tasksMax: number): Promise<number>
  /** Those that have not ended. Their jobs find out by themselves. */
  cancel(groupId: string): Promise<number>
  delete(groupId: string): Promise<number>
  /** QUEUED for longer than this and no live job or outbox row: back to the outbox. */
  requeueStray(olderThanMs: number, tasksMax: number): Promise<number>
}

// ── figures that both implementations share ─────────────────────────────────────────────────────

export interface StoreLimits {
  readonly leaseMs: number
  /** A job whose node died this often while running it is dead-lettered. */
  readonly crashesMax: number
  /** From this many crashes on, a job runs alone among its kind: see `ClaimRequest`. */
  readonly suspectCrashes: number
  /** Lanes looked at in one claim. */
  readonly lanesMax: number
  /** Past attempts kept per job; the oldest go first. */
  readonly pastAttemptsMax: number
}

export const storeLimits: StoreLimits = {
  leaseMs: 30_000,
  crashesMax: 3,
  suspectCrashes: 2,
  lanesMax: 128,
  pastAttemptsMax: 20,
}

/** The store cannot be reached or cannot write now. Nothing is known to be lost: try again. */
export class StoreUnavailable extends Error {
  /** For programs: `disk.full`, `database.away`, `database.readOnly`, `database.busy`. */
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** The store cannot be used until somebody has done something about it; the message says what. */
export class StoreRefused extends Error {}
