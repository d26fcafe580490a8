/**
 * One opened store for each test, with time that stands still until the test moves it, and short
 * words for what nearly every claim does: submit, claim, settle.
 */
import { afterEach, beforeEach, expect } from 'vitest'
import {
  type Claim,
  type ClaimedJob,
  type ClaimRequest,
  type FinalState,
  finalStates,
  type JobCounts,
  type JobRecord,
  type JobState,
  type JobStore,
  type NewJob,
  type Settlement,
  type SettleVerdict,
} from '../../../src/runtime/store/job-store.ts'

/** A row of the outbox as a stranger writes it: what is left out is left to the table. */
export interface OutboxDraft {
  readonly type: string
  readonly body: string
  readonly key?: string
  readonly domain?: string
  readonly priority?: number
  readonly runAt?: number
  readonly attemptsMax?: number
  readonly taskId?: string
}

export interface OpenedJobStore {
  readonly store: JobStore
  /** What the store's clock says. It moves by `advance` alone. */
  now(): number
  advance(ms: number): Promise<void>
  /** Plain SQL from a connection of its own. */
  writeOutbox(rows: readonly OutboxDraft[]): Promise<void>
  /** The reasons that stand in the outbox, by plain SQL. */
  refusals(): Promise<string[]>
  /** Another store on the same data; the caller closes it. */
  reopen(): Promise<JobStore>
  close(): Promise<void>
}

export type OpenJobStore = () => Promise<OpenedJobStore>

export class Stage {
  #opened: OpenedJobStore | undefined
  #ids = 0

  begin(opened: OpenedJobStore): void {
    this.#opened = opened
  }

  async end(): Promise<void> {
    await this.#opened?.close()
    this.#opened = undefined
  }

  get opened(): OpenedJobStore {
    if (!this.#opened) throw new Error('no store has been opened')
    return this.#opened
  }

  get store(): JobStore {
    return this.opened.store
  }

  now(): number {
    return this.opened.now()
  }

  advance(ms: number): Promise<void> {
    return this.opened.advance(ms)
  }

  /** A UUID of the kind that sorts by time, and by the order of asking within a millisecond. */
  newId(): string {
    const time = this.now().toString(16).padStart(12, '0')
    const order = (this.#ids++).toString(16).padStart(12, '0')
    return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${order}`
  }

  job(part: Partial<NewJob> = {}): NewJob {
    return {
      id: this.newId(),
      type: 'fetch',
      version: '1',
      body: '{}',
      key: null,
      domain: 'a.example',
      priority: 0,
      runAt: null,
      attemptsMax: 5,
      taskId: null,
      traceId: 'trace',
      spanId: 'span',
      ...part,
    }
  }

  jobs(count: number, part: Partial<NewJob> = {}): NewJob[] {
    return Array.from({ length: count }, () => this.job(part))
  }

  /** Submits one and answers its id. */
  async submit(part: Partial<NewJob> = {}): Promise<string> {
    const job = this.job(part)
    await this.store.add([job])
    return job.id
  }

  async enlist(id = 'node-1'): Promise<WorkingNode> {
    const { epoch } = await this.store.enlist({ id, role: 'worker', address: null, version: '1' })
    return new WorkingNode(this.store, id, epoch)
  }

  /** A job that runs, and the node that runs it. */
  async running(part: Partial<NewJob> = {}): Promise<{ node: WorkingNode; job: ClaimedJob }> {
    const node = await this.enlist()
    await this.submit(part)
    return { node, job: await node.takeOne() }
  }

  /** A job in each state, by the ways a job gets there. Takes every job that waits. */
  async oneOfEach(part: Partial<NewJob> = {}): Promise<Record<JobState, string>> {
    const node = await this.enlist('usher')
    await this.store.add(this.jobs(finalStates.length + 1, part))
    const [running, ...ended] = await node.takeAll()
    await node.settle(...ended.map((job, index) => settling[finalStates[index]!](job)))
    return {
      queued: await this.submit(part),
      scheduled: await this.submit({ ...part, runAt: this.now() + 60_000 }),
      running: running!.id,
      ...(Object.fromEntries(
        finalStates.map((state, index) => [state, ended[index]!.id]),
      ) as Record<FinalState, string>),
    }
  }

  async record(id: string): Promise<JobRecord> {
    const record = await this.store.get(id)
    if (!record) throw new Error(`there is no job ${id}`)
    return record
  }

  async state(id: string): Promise<JobState> {
    return (await this.record(id)).state
  }

  /** Only the counts that are not zero, so that a claim names what it means. */
  async tally(): Promise<Partial<Record<JobState, number>>> {
    return tallyOf(await this.store.counts())
  }

  /** The node dies and comes back: everything it ran counts as crashed. */
  async crash(node: WorkingNode): Promise<WorkingNode> {
    return this.enlist(node.id)
  }
}

export class WorkingNode {
  readonly id: string
  readonly epoch: number
  readonly #store: JobStore

  constructor(store: JobStore, id: string, epoch: number) {
    this.#store = store
    this.id = id
    this.epoch = epoch
  }

  claim(part: Partial<ClaimRequest> = {}): Promise<Claim> {
    return this.#store.claim({
      nodeId: this.id,
      epoch: this.epoch,
      jobsMax: 1_000,
      types: ['fetch', 'match'],
      refusedDomains: [],
      domainJobsMax: 1_000,
      takesSuspect: true,
      after: null,
      ...part,
    })
  }

  /** One batch. */
  async take(part: Partial<ClaimRequest> = {}): Promise<readonly ClaimedJob[]> {
    return (await this.claim(part)).jobs
  }

  async takeOne(part: Partial<ClaimRequest> = {}): Promise<ClaimedJob> {
    const [job, ...others] = await this.take({ jobsMax: 1, ...part })
    if (!job || others.length > 0) throw new Error('expected exactly one job to be claimed')
    return job
  }

  /** From the first lane to the last, once. */
  async walk(part: Partial<ClaimRequest> = {}): Promise<Claim[]> {
    const claims: Claim[] = []
    let after: string | null = null
    do {
      const claim: Claim = await this.claim({ ...part, after })
      claims.push(claim)
      after = claim.next
      expect(claims.length, 'claims that lead to no last lane').toBeLessThan(1_000)
    } while (after !== null)
    return claims
  }

  async takeAll(part: Partial<ClaimRequest> = {}): Promise<ClaimedJob[]> {
    return (await this.walk(part)).flatMap(({ jobs }) => jobs)
  }

  settle(...settlements: readonly Settlement[]): Promise<readonly SettleVerdict[]> {
    return this.#store.settle(this.id, settlements)
  }
}

/** For the top of a suite: a fresh store for each of its tests. */
export function useStage(open: OpenJobStore): Stage {
  const stage = new Stage()
  beforeEach(async () => stage.begin(await open()))
  afterEach(() => stage.end())
  return stage
}

export const failure = { code: 'http.500', message: 'the server said 500' }

type Ticket = { readonly id: string; readonly fence: number }

/** The settlements, with what they carry when a claim does not care. */
export const settling = {
  done: ({ id, fence }: Ticket, result = '{}'): Settlement => ({ id, fence, kind: 'done', result }),
  skipped: ({ id, fence }: Ticket, reason = 'nothing to do'): Settlement => ({
    id,
    fence,
    kind: 'skipped',
    reason,
  }),
  failed: ({ id, fence }: Ticket, error = failure): Settlement => ({
    id,
    fence,
    kind: 'failed',
    error,
  }),
  dead: ({ id, fence }: Ticket, error = failure): Settlement => ({
    id,
    fence,
    kind: 'dead',
    error,
  }),
  cancelled: ({ id, fence }: Ticket): Settlement => ({ id, fence, kind: 'cancelled' }),
  requeue: ({ id, fence }: Ticket, delayMs = 0, error = failure): Settlement => ({
    id,
    fence,
    kind: 'requeue',
    delayMs,
    error,
  }),
  park: ({ id, fence }: Ticket, delayMs = 0, reason = 'told to wait'): Settlement => ({
    id,
    fence,
    kind: 'park',
    delayMs,
    reason,
  }),
}

export function tallyOf({ live, ended }: JobCounts): Partial<Record<JobState, number>> {
  const all = Object.entries({ ...live, ...ended })
  return Object.fromEntries(all.filter(([, count]) => count !== 0))
}

export function idsOf(jobs: readonly { readonly id: string }[]): string[] {
  return jobs.map(({ id }) => id)
}
