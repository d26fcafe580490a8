/**
 * Whatever is asked of a store, in whatever order: after each step no job is lost or invented, each
 * is in the one state the model says, and the counts are right.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { PauseScope, Settlement } from '../../../src/runtime/store/job-store.ts'
import { isSuspect, StoreModel } from './model.ts'
import { type OpenJobStore, Stage, settling, WorkingNode } from './stage.ts'

// A step passes this much time. No sum of them is a lease or a retention to the millisecond, where
// the port leaves open whether that is over yet.
const PAUSES_MS = [1_009, 7_001, 31_013] as const
// Seconds on an idle machine; a busy one must not cut a walk short and leave its store open.
const WALKS_MS_MAX = 180_000
const retention = { endedMs: 10_000, failedMs: 50_000, bytesMax: Number.MAX_SAFE_INTEGER }
const scopes: readonly PauseScope[] = [
  { kind: 'all' },
  { kind: 'type', name: 'match' },
  { kind: 'domain', name: 'a.example' },
]

type Step =
  | { do: 'submit' | 'write'; count: number; key: string | null; inMs: number; what: number }
  | { do: 'claim'; node: number; jobsMax: number; takesSuspect: boolean; refused: string[] }
  | { do: 'settle'; which: number; kind: keyof typeof settling; delayMs: number }
  | { do: 'cancel'; which: number }
  | { do: 'beat' | 'enlist'; node: number }
  | { do: 'promote' | 'rescue' | 'prune' }
  | { do: 'replay'; jobsMax: number }
  | { do: 'pause' | 'resume'; scope: number }
  | { do: 'pass'; ms: number }

const only = <const T>(...values: T[]) => fc.constantFrom(...values)
const node = fc.nat({ max: 2 })
const kinds = ['done', 'done', 'skipped', 'failed', 'dead', 'cancelled', 'requeue', 'park'] as const

const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: only('submit', 'submit', 'write'),
      count: fc.integer({ min: 1, max: 3 }),
      key: only(null, null, 'x', 'y', 'z'),
      inMs: only(0, 0, 0, -5, 3_000),
      what: fc.nat({ max: 3 }),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      do: only('claim'),
      node,
      jobsMax: fc.integer({ min: 1, max: 5 }),
      takesSuspect: only(true, true, false),
      refused: only<string[]>([], [], [], ['b.example']),
    }),
  },
  {
    weight: 7,
    arbitrary: fc.record({
      do: only('settle'),
      which: fc.nat({ max: 9 }),
      kind: only(...kinds),
      delayMs: only(0, 0, 2_000),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: only('cancel'), which: fc.nat({ max: 15 }) }) },
  { weight: 6, arbitrary: fc.record({ do: only('beat', 'enlist'), node }) },
  { weight: 4, arbitrary: fc.record({ do: only('promote', 'rescue', 'rescue', 'prune') }) },
  { weight: 1, arbitrary: fc.record({ do: only('replay'), jobsMax: only(1, 3, 100) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: only('pause', 'resume', 'resume'),
      scope: fc.nat({ max: scopes.length - 1 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: only('pass'), ms: only(...PAUSES_MS) }) },
)

export function randomWalkClaims(open: OpenJobStore): void {
  describe('whatever happens, in whatever order', () => {
    it(
      'no job is lost or invented, and the counts are right',
      async () => {
        const walks = fc.array(steps, { minLength: 100, maxLength: 150, size: 'max' })
        const property = fc.asyncProperty(walks, async (walk) => {
          const stage = new Stage()
          stage.begin(await open())
          try {
            const walker = new Walker(stage)
            await walker.begin()
            for (const step of walk) {
              await walker.take(step)
              await walker.compare()
            }
          } finally {
            await stage.end()
          }
        })
        // Not shrunk: that takes minutes on a server. The seed that is printed repeats the walk.
        await fc.assert(property, { numRuns: 10, endOnFailure: true })
      },
      WALKS_MS_MAX,
    )
  })
}

/** The newest come first: they are the ones that matter. */
interface Ticket {
  readonly id: string
  readonly fence: number
  settlement?: Settlement
}

class Walker {
  readonly #stage: Stage
  readonly #model: StoreModel
  readonly #nodes = new Map<string, WorkingNode>()
  readonly #robbed = new Set<string>()
  readonly #tickets: Ticket[] = []

  constructor(stage: Stage) {
    this.#stage = stage
    this.#model = new StoreModel(() => stage.now())
  }

  async begin(): Promise<void> {
    for (const name of ['node-0', 'node-1', 'node-2']) await this.#enlist(name)
  }

  async take(step: Step): Promise<void> {
    const { store } = this.#stage
    switch (step.do) {
      case 'submit':
      case 'write':
        return this.#submit(step)
      case 'claim':
        return this.#claim(step)
      case 'settle':
        return this.#settle(step)
      case 'cancel': {
        const id = [...this.#model.jobs.keys()].at(-step.which) ?? this.#stage.newId()
        expect(await store.cancel(id)).toBe(this.#model.cancel(id))
        return
      }
      case 'beat':
        return this.#beat(`node-${step.node}`)
      case 'enlist':
        return this.#enlist(`node-${step.node}`)
      case 'promote':
        expect((await store.promote(1_000)).promoted).toBe(this.#model.promote())
        return
      case 'rescue':
        for (const { id } of this.#nodes.values())
          if (this.#runsAny(id) && !this.#model.isServed(id)) this.#robbed.add(id)
        expect(sorted(await store.rescue(1_000))).toEqual(sorted(this.#model.rescue()))
        return
      case 'prune':
        expect((await store.prune(retention, 1_000)).pruned).toBe(this.#model.prune(retention))
        return
      case 'replay':
        expect(await store.replay({}, step)).toEqual(this.#model.replay(step.jobsMax))
        return
      case 'pause':
        await store.pause(scopes[step.scope]!)
        this.#model.pauses.add(JSON.stringify(scopes[step.scope]))
        return
      case 'resume':
        await store.resume(scopes[step.scope]!)
        this.#model.pauses.delete(JSON.stringify(scopes[step.scope]))
        return
      case 'pass':
        return this.#stage.advance(step.ms)
      default:
        step satisfies never
    }
  }

  async compare(): Promise<void> {
    const { store } = this.#stage
    const { jobs } = await store.list({}, { after: null, jobsMax: 1_000 })
    const seen = jobs.map(({ id, state, runAt, attempt, crashes, fence, finishedAt }) => {
      return { id, state, runAt, attempt, crashes, fence, finishedAt }
    })
    const expected = [...this.#model.jobs.values()]
      .sort((one, two) => (one.id < two.id ? 1 : -1))
      .map(({ id, state, runAt, attempt, crashes, fence, finishedAt }) => {
        return { id, state, runAt, attempt, crashes, fence, finishedAt }
      })
    expect(seen).toEqual(expected)
    expect(await store.counts()).toEqual(this.#model.counts())
  }

  async #submit({ do: way, count, key, inMs, what }: Extract<Step, { do: 'submit' | 'write' }>) {
    const runAt = inMs === 0 ? null : this.#stage.now() + inMs
    const part = {
      type: what % 2 ? 'fetch' : 'match',
      domain: what < 2 ? 'a.example' : 'b.example',
      priority: count % 3,
      attemptsMax: 2 + (what % 3),
      runAt,
    }
    // One of them has the key, so that a batch mixes both.
    const jobs = this.#stage.jobs(count, part).map((job, index) => {
      return index === 0 ? { ...job, key } : job
    })
    const standing = jobs.map((job) => this.#model.add(job))
    if (way === 'submit') {
      const receipts = await this.#stage.store.add(jobs)
      expect(receipts).toEqual(standing.map((id, at) => ({ id, isNew: id === jobs[at]!.id })))
      return
    }
    await this.#stage.opened.writeOutbox(
      jobs.map((job) => ({
        type: job.type,
        body: job.body,
        ...(job.key !== null && { key: job.key }),
      })),
    )
    let at = 0
    const relayed = await this.#stage.store.relay(1_000, () => jobs[at++]!)
    expect(relayed).toEqual({ moved: count, refused: 0 })
  }

  /** Which jobs a claim chooses is the store's affair, as long as it may and keeps the order. */
  async #claim({ node, jobsMax, takesSuspect, refused }: Extract<Step, { do: 'claim' }>) {
    const id = `node-${node}`
    const worker = this.#nodes.get(id)
    if (!worker) return
    const isServed = this.#model.isServed(id)
    const ready = isServed ? this.#model.claimable(refused) : []
    const claim = await worker.claim({ jobsMax, takesSuspect, refusedDomains: refused })
    expect(claim.jobs.length).toBeLessThanOrEqual(jobsMax)
    let suspects = 0
    for (const taken of claim.jobs) {
      const job = ready.find((each) => each.id === taken.id)
      expect(job, 'a job that nobody may claim').toBeDefined()
      const lane = ready.filter(
        (each) =>
          each.type === job!.type &&
          each.domain === job!.domain &&
          isSuspect(each) === isSuspect(job!),
      )
      expect(taken.id, 'the first of its lane').toBe(lane[0]!.id)
      if (isSuspect(job!)) suspects++
      this.#model.claim(job!, id)
      ready.splice(ready.indexOf(job!), 1)
      expect(taken).toMatchObject({ attempt: job!.attempt, fence: job!.fence })
      this.#tickets.unshift({ id: taken.id, fence: taken.fence })
    }
    expect(suspects).toBeLessThanOrEqual(takesSuspect ? 1 : 0)
    const isAnyLeft = ready.some((job) => takesSuspect || !isSuspect(job))
    if (isAnyLeft) expect(claim.jobs, 'somebody could have been served').not.toEqual([])
  }

  /** Settling once more what is settled repeats it: nothing else can be meant by the same fence. */
  async #settle({ which, kind, delayMs }: Extract<Step, { do: 'settle' }>) {
    const ticket = this.#tickets[which]
    if (!ticket) return
    const job = this.#model.jobs.get(ticket.id)
    // The runtime sends nobody back who has no attempt left.
    const isOver = kind === 'requeue' && job !== undefined && job.attempt >= job.attemptsMax
    ticket.settlement ??= settlementOf(ticket, isOver ? 'dead' : kind, delayMs)
    const verdicts = await this.#stage.store.settle(job?.nodeId ?? 'node-0', [ticket.settlement])
    expect(verdicts).toEqual([this.#model.settle(ticket.settlement)])
  }

  async #enlist(id: string) {
    const card = { id, role: 'worker', address: null, version: '1' } as const
    const { epoch, recovered } = await this.#stage.store.enlist(card)
    expect(sorted(recovered)).toEqual(sorted(this.#model.takeBack(id)))
    this.#model.renew(id)
    this.#robbed.delete(id)
    this.#nodes.set(id, new WorkingNode(this.#stage.store, id, epoch))
  }

  /** Whether a node that had nothing to lose was rescued too is the store's affair. */
  async #beat(id: string) {
    const worker = this.#nodes.get(id)
    if (!worker) return
    const answer = await this.#stage.store.beat(id, worker.epoch)
    if (this.#robbed.has(id)) expect(answer).toBe('lost')
    else if (this.#runsAny(id) || this.#model.isServed(id)) expect(answer).toBe('renewed')
    if (answer === 'renewed') this.#model.renew(id)
  }

  #runsAny(id: string): boolean {
    const jobs = [...this.#model.jobs.values()]
    return jobs.some(({ state, nodeId }) => state === 'running' && nodeId === id)
  }
}

function settlementOf(ticket: Ticket, kind: keyof typeof settling, delayMs: number): Settlement {
  return kind === 'requeue' || kind === 'park'
    ? settling[kind](ticket, delayMs)
    : settling[kind](ticket)
}

function sorted<T extends { readonly dead: readonly string[] }>(recovery: T): T {
  return { ...recovery, dead: recovery.dead.toSorted() }
}
