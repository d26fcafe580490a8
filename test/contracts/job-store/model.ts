/**
 * What a job store ought to do, in memory and without any regard for speed: the rules of the port,
 * written a second time, to walk beside a real store and be compared with it.
 */
import {
  type FinalState,
  finalStates,
  type JobState,
  type NewJob,
  type PauseScope,
  type Recovery,
  type Retention,
  type Settlement,
  type SettleVerdict,
  storeLimits,
} from '../../../src/runtime/store/job-store.ts'

export interface ModelJob {
  readonly id: string
  readonly key: string | null
  readonly type: string
  readonly domain: string
  readonly priority: number
  readonly attemptsMax: number
  state: JobState
  runAt: number
  attempt: number
  crashes: number
  fence: number
  settledFence: number | null
  nodeId: string | null
  isCancelRequested: boolean
  finishedAt: number | null
}

const ended = new Set<JobState>(finalStates)

export class StoreModel {
  readonly jobs = new Map<string, ModelJob>()
  readonly leases = new Map<string, number>()
  readonly pauses = new Set<string>()
  readonly endedSoFar = { done: 0, skipped: 0, failed: 0, dead: 0, cancelled: 0 }
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  /** The id of the job that now stands for this one. */
  add({ runAt: wish, ...job }: NewJob): string {
    const first = job.key !== null && this.#all().find(({ key }) => key === job.key)
    if (first) return first.id
    const runAt = wish ?? this.#now()
    this.jobs.set(job.id, {
      ...job,
      state: runAt > this.#now() ? 'scheduled' : 'queued',
      runAt,
      attempt: 0,
      crashes: 0,
      fence: 0,
      settledFence: null,
      nodeId: null,
      isCancelRequested: false,
      finishedAt: null,
    })
    return job.id
  }

  /** May this node be given jobs at all? */
  isServed(nodeId: string): boolean {
    return (this.leases.get(nodeId) ?? Number.NEGATIVE_INFINITY) > this.#now()
  }

  /** Those a claim may choose from, in the order of each lane. */
  claimable(refusedDomains: readonly string[]): ModelJob[] {
    const isFree = ({ type, domain }: ModelJob) =>
      !refusedDomains.includes(domain) &&
      ![{ kind: 'all' } as const, typeScope(type), domainScope(domain)].some((scope) =>
        this.pauses.has(JSON.stringify(scope)),
      )
    return this.#in('queued')
      .filter(isFree)
      .sort(
        (one, two) =>
          one.priority - two.priority || one.runAt - two.runAt || (one.id < two.id ? -1 : 1),
      )
  }

  claim(job: ModelJob, nodeId: string): void {
    job.state = 'running'
    job.nodeId = nodeId
    job.attempt++
    job.fence++
  }

  settle(settlement: Settlement): SettleVerdict {
    const job = this.jobs.get(settlement.id)
    if (!job || job.fence !== settlement.fence) return 'lost'
    if (job.state !== 'running') return job.settledFence === job.fence ? 'settled' : 'lost'
    job.settledFence = job.fence
    if (settlement.kind !== 'requeue' && settlement.kind !== 'park') this.#end(job, settlement.kind)
    else if (job.isCancelRequested) this.#end(job, 'cancelled')
    else {
      if (settlement.kind === 'park') job.attempt--
      job.state = settlement.delayMs > 0 ? 'scheduled' : 'queued'
      job.runAt = this.#now() + settlement.delayMs
    }
    return 'settled'
  }

  cancel(id: string): string {
    const job = this.jobs.get(id)
    if (!job) return 'unknown'
    if (ended.has(job.state)) return 'final'
    if (job.state === 'running') {
      job.isCancelRequested = true
      return 'requested'
    }
    this.#end(job, 'cancelled')
    return 'cancelled'
  }

  promote(): number {
    const due = this.#in('scheduled').filter(({ runAt }) => runAt <= this.#now())
    for (const job of due) job.state = 'queued'
    return due.length
  }

  renew(nodeId: string): void {
    this.leases.set(nodeId, this.#now() + storeLimits.leaseMs)
  }

  rescue(): Recovery {
    const lapsed = [...this.leases.keys()].filter((nodeId) => !this.isServed(nodeId))
    return this.takeBack(...lapsed)
  }

  takeBack(...nodeIds: readonly string[]): Recovery {
    const lost = this.#in('running').filter(({ nodeId }) => nodeIds.includes(nodeId ?? ''))
    for (const job of lost) this.#crash(job)
    const dead = lost.filter(({ state }) => state === 'dead').map(({ id }) => id)
    const cancelled = lost.filter(({ state }) => state === 'cancelled').length
    return { requeued: lost.length - dead.length - cancelled, dead, cancelled }
  }

  replay(jobsMax: number): string[] {
    const troubled = this.#all()
      .filter(({ state }) => state === 'failed' || state === 'dead' || state === 'cancelled')
      .sort((one, two) => (one.id < two.id ? 1 : -1))
      .slice(0, jobsMax)
    for (const job of troubled)
      Object.assign(job, {
        state: 'queued',
        attempt: 0,
        crashes: 0,
        runAt: this.#now(),
        finishedAt: null,
        isCancelRequested: false,
      })
    return troubled.map(({ id }) => id)
  }

  prune({ endedMs, failedMs }: Retention): number {
    const old = this.#all().filter(({ state, finishedAt }) => {
      const keptMs = state === 'failed' || state === 'dead' ? failedMs : endedMs
      return finishedAt !== null && finishedAt + keptMs < this.#now()
    })
    for (const { id } of old) this.jobs.delete(id)
    return old.length
  }

  counts() {
    const queued = this.#in('queued')
    return {
      live: {
        queued: queued.length,
        scheduled: this.#in('scheduled').length,
        running: this.#in('running').length,
      },
      ended: this.endedSoFar,
      outbox: 0,
      oldestQueuedAt: queued.length ? Math.min(...queued.map(({ runAt }) => runAt)) : null,
    }
  }

  #crash(job: ModelJob): void {
    job.crashes++
    if (job.isCancelRequested) this.#end(job, 'cancelled')
    else if (job.crashes >= storeLimits.crashesMax || job.attempt >= job.attemptsMax)
      this.#end(job, 'dead')
    else job.state = 'queued'
  }

  #end(job: ModelJob, state: FinalState): void {
    job.state = state
    job.finishedAt = this.#now()
    this.endedSoFar[state]++
  }

  #all(): ModelJob[] {
    return [...this.jobs.values()]
  }

  #in(state: JobState): ModelJob[] {
    return this.#all().filter((job) => job.state === state)
  }
}

export function isSuspect({ crashes }: ModelJob): boolean {
  return crashes >= storeLimits.suspectCrashes
}

function typeScope(name: string): PauseScope {
  return { kind: 'type', name }
}

function domainScope(name: string): PauseScope {
  return { kind: 'domain', name }
}
