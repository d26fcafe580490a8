/**
 * The jobs this node holds. Claimed jobs wait here until there is room to run them; each that runs
 * is an actor on the host, and what its machine asks for is done here.
 *
 * What holds
 * - At most `concurrency` jobs run at a time and one suspect beside them, at most `prefetch` wait.
 * - A job leaves only through the store: settled, or known to be lost.
 * - While the store cannot be reached, decisions wait and are repeated; nothing is dropped.
 */
import type { ActorHost, Actors } from '../actors/host.ts'
import type { Clock } from '../actors/ports.ts'
import type { TypedEvents } from '../actors/typed-events.ts'
import type { Decision } from '../machines/decision.ts'
import type { HandlerJobCommand } from '../machines/handler-job.ts'
import type { JobCommand, JobInput, JobMessage } from '../machines/job.ts'
import type { StatesJobCommand, StatesJobMessage } from '../machines/states-job.ts'
import { HeldCounts, isSuspect } from './held-counts.ts'
import { JobRun, type RunWorld } from './job-run.ts'
import { JobTeller } from './job-teller.ts'
import { hasStates, type JobTypes, type RegisteredType } from './job-types.ts'
import type { RuntimeEventMap } from './runtime-events.ts'
import { handedBack, obsolete, settledAs, settlementOf } from './settlement.ts'
import { Settler } from './settler.ts'
import type { ClaimedJob, JobQueue, Settlement } from './store/job-store.ts'
import { tracingOf } from './tracing.ts'

export interface WorkerOptions {
  readonly clock: Clock
  readonly host: ActorHost
  readonly queue: JobQueue
  readonly types: JobTypes
  readonly nodeId: string
  readonly events: TypedEvents<RuntimeEventMap>
  readonly fetch: typeof globalThis.fetch
  readonly concurrency: number
  readonly prefetch: number
  /** Jobs of one domain held at a time; those without a domain are not counted. */
  readonly domainJobsMax: number
  /** Somebody's code is about to run. */
  onRun(id: string, type: string): void
  /** There is room for more. */
  onRoom(): void
  /** A job went back to the queue for this long. */
  onDelayed(delayMs: number): void
}

type Message = JobMessage | StatesJobMessage
type Command = JobCommand | HandlerJobCommand | StatesJobCommand

interface LiveJob {
  readonly claimed: ClaimedJob
  readonly type: RegisteredType
  readonly actors: Actors<Message>
  attempt: number
  run: JobRun | undefined
  progress: { done: number; total: number | null; note: string } | undefined
}

const PROGRESS_EVERY_MS = 500

export class JobWorker {
  readonly counts: HeldCounts
  readonly #options: WorkerOptions
  readonly #kinds = new Map<string, Actors<Message>>()
  readonly #waiting: LiveJob[] = []
  readonly #running = new Map<string, LiveJob>()
  /** Claimed again before its last life here had ended: begins when that is over. */
  readonly #held = new Map<string, LiveJob>()
  readonly #settler: Settler
  readonly #teller: JobTeller
  readonly #world: RunWorld
  #isDraining = false
  #isProgressArmed = false
  #idleWaiters: (() => void)[] = []

  constructor(options: WorkerOptions) {
    this.#options = options
    const { clock, host, queue, nodeId, events, types } = options
    this.counts = new HeldCounts(options.domainJobsMax)
    this.#settler = new Settler({ clock, queue, nodeId, events })
    this.#teller = new JobTeller(clock, events)
    this.#world = this.#runWorld()
    for (const [kind, { definition }] of types.kinds)
      this.#kinds.set(
        kind,
        host.register<Message, Command>({
          name: kind,
          chart: (key) => (this.#held.get(key) ?? this.#running.get(key))!.type.chart,
          isDurable: true,
          isWriteAhead: hasStates(definition),
          onFenced: { type: 'LEASE_LOST' },
          perform: (command, key) => this.#perform(command, key),
        }),
      )
    const left = ({ kind, key }: { kind: string; key: string }) => {
      if (this.#kinds.has(kind)) this.#left(key)
    }
    host.on('actor.finished', left)
    host.on('actor.evicted', left)
    host.on('actor.quarantined', ({ kind, key, error }) => {
      if (this.#kinds.has(kind)) this.#giveUp(key, error)
    })
  }

  // ── for the claimer ─────────────────────────────────────────────────────────────────────────

  get room(): number {
    if (this.#isDraining) return 0
    const { concurrency, prefetch } = this.#options
    return Math.max(0, concurrency + prefetch - this.size)
  }

  /** Jobs held, running or not. */
  get size(): number {
    return this.#running.size + this.#waiting.length
  }

  take(claimed: readonly ClaimedJob[]): void {
    for (const job of claimed) {
      const type = this.#options.types.get(job.type)
      if (this.#isDraining || !type) this.#handBack(job)
      else if (job.isObsolete) this.#settleUnbegun(job, obsolete(job))
      else this.#admit({ claimed: job, type, ...fresh(job), actors: this.#kinds.get(type.kind)! })
    }
    this.#fill()
  }

  // ── for the desk, the lease and the end ─────────────────────────────────────────────────────

  /** True when it is here and was told. */
  cancel(id: string): boolean {
    const live = this.#running.get(id)
    if (live) live.actors.send(id, { type: 'CANCELLED' })
    const waiting = this.#waiting.findIndex(({ claimed }) => claimed.id === id)
    if (waiting >= 0) {
      const { claimed } = this.#waiting[waiting]!
      this.#waiting.splice(waiting, 1)
      this.#settleUnbegun(claimed, { id, fence: claimed.fence, kind: 'cancelled' })
      this.counts.remove(claimed)
    }
    return live !== undefined || waiting >= 0
  }

  peek(id: string) {
    const live = this.#running.get(id)
    return live?.actors.peek(id)
  }

  fenceOf(id: string): number | undefined {
    const held = this.#running.get(id) ?? this.#waiting.find(({ claimed }) => claimed.id === id)
    return held?.claimed.fence
  }

  /** The leases have ended: whatever is done here is written nowhere. */
  loseAll(): number {
    const lost = this.size
    for (const { claimed } of this.#waiting.splice(0)) this.counts.remove(claimed)
    for (const live of [...this.#running.values()]) this.#lost(live)
    return lost
  }

  /** From here on nothing is taken and nothing begun; what waits is given back. */
  refuse(): void {
    this.#isDraining = true
    for (const { claimed } of this.#waiting.splice(0)) {
      this.#handBack(claimed)
      this.counts.remove(claimed)
    }
    for (const live of [...this.#held.values()]) {
      this.#handBack(live.claimed)
      this.#end(live, () => {})
    }
  }

  /** Resolves when nothing runs and everything has been told. */
  async idle(): Promise<void> {
    if (this.#running.size > 0) await new Promise<void>((done) => this.#idleWaiters.push(done))
    await this.#settler.idle()
  }

  /** What the store has not heard of by now it will find out when the leases end. */
  abandon(): void {
    this.#settler.close()
    this.loseAll()
  }

  /** What still runs stops where it stands and goes back to the queue; it costs no attempt. */
  release(): void {
    for (const [id, { actors }] of this.#running) actors.send(id, { type: 'DRAINED' })
  }

  // ── beginning and ending ────────────────────────────────────────────────────────────────────

  #admit(live: LiveJob): void {
    this.counts.add(live.claimed)
    // A suspect that only waited when the process died would be taken for the one that killed it.
    if (isSuspect(live.claimed)) this.#begin(live)
    else this.#waiting.push(live)
  }

  #fill(): void {
    const { concurrency } = this.#options
    while (this.#running.size < concurrency && this.#waiting.length > 0)
      this.#begin(this.#waiting.shift()!)
  }

  #begin(live: LiveJob): void {
    const { claimed, actors } = live
    const { id, fence, attempt, attemptsMax } = claimed
    const former = this.#running.get(id)
    // Counts as running from here on: its place is taken.
    this.#running.set(id, live)
    // The store would not have given it away twice: whatever is here of it has been overtaken.
    if (former && former !== live) this.#overtaken(former)
    this.#held.set(id, live)
    const input: JobInput = { jobId: id, attempt, attemptsMax, fence }
    const isNew = fence === 1
    if (!actors.start(id, { input, fence, since: claimed.sinceFence, isNew })) {
      // One in quarantine would never leave by itself; that it is tried again is a person's wish.
      if (this.#options.host.release(live.type.kind, id)) actors.send(id, { type: 'LEASE_LOST' })
      return
    }
    this.#held.delete(id)
    this.#teller.tell('job.started', live, () => ({
      waitedMs: Math.max(0, this.#options.clock.now() - claimed.createdAt),
    }))
  }

  /** Its actor is gone: the next claim of the same job can begin. */
  #left(id: string): void {
    const live = this.#running.get(id)
    if (!live) return
    // Nothing was settled, so the host has found out that another node has it.
    if (!this.#held.has(id)) this.#end(live, () => this.#tellLost(live))
    else
      this.#options.clock.soon(() => {
        if (this.#held.get(id) === live) this.#begin(live)
      })
  }

  #overtaken(live: LiveJob): void {
    this.#callOff(live)
    this.counts.remove(live.claimed)
    this.#tellLost(live)
  }

  /** At once: by the time its machine asks for it, the job may have left or begun anew. */
  #callOff(live: LiveJob): void {
    if (this.#held.get(live.claimed.id) === live) return
    live.run?.abort(reasonText.leaseLost)
    live.run = undefined
    live.actors.send(live.claimed.id, { type: 'LEASE_LOST' })
  }

  /** It is out of our hands: settled or lost. */
  #end(live: LiveJob, tell: () => void): void {
    const { id } = live.claimed
    if (this.#running.get(id) !== live) return
    this.#running.delete(id)
    this.#held.delete(id)
    this.counts.remove(live.claimed)
    tell()
    this.#fill()
    if (this.#running.size === 0) for (const wake of this.#idleWaiters.splice(0)) wake()
    if (this.#waiting.length * 2 <= this.#options.prefetch) this.#options.onRoom()
  }

  #handBack(claimed: ClaimedJob): void {
    this.#settler.settle(handedBack(claimed), () => this.#options.onDelayed(0))
  }

  /** It ends without having run here. */
  #settleUnbegun(claimed: ClaimedJob, settlement: Settlement): void {
    this.#settler.settle(settlement, (verdict) => {
      const { attempt } = claimed
      const as = settledAs[settlement.kind]
      if (verdict === 'lost') this.#teller.tell('job.lost', { claimed, attempt }, () => ({}))
      else this.#teller.tell('job.settled', { claimed, attempt }, () => ({ as, error: null }))
    })
  }

  /** Its actor cannot go on, and a person has to look at it. */
  #giveUp(id: string, cause: unknown): void {
    const live = this.#running.get(id)
    if (!live) return
    const message = `Its actor crashed too often: ${cause instanceof Error ? cause.message : cause}`
    const error = { code: 'actor.quarantined', message }
    this.#settle(live, { kind: 'dead', error }, live.claimed.fence)
  }

  // ── what the machines ask for ───────────────────────────────────────────────────────────────

  #perform(command: Command, id: string): void {
    const live = this.#running.get(id)
    // One that is held has not begun: what is asked for belongs to a life that is over.
    if (!live || this.#held.has(id)) return
    switch (command.type) {
      case 'run':
      case 'perform':
        // An actor that crashed and came back asks again; two of them would both be heard.
        live.run?.abort(reasonText.restarted)
        live.attempt = command.attempt
        live.run = new JobRun(this.#world, live.claimed, command)
        this.#options.onRun(id, live.type.type)
        live.run.start(live.type.definition)
        break
      case 'abort':
        live.run?.abort(reasonText[command.reason], command.reason !== 'drained')
        live.run = undefined
        break
      case 'countAttempt':
        this.#countAttempt(live, command.attempt, command.fence)
        break
      case 'settle':
        this.#settle(live, command.decision, command.fence)
        break
      default:
        command satisfies never
    }
  }

  #runWorld(): RunWorld {
    const { clock, fetch } = this.#options
    /** Whatever a run says after its job has left is about nothing. */
    const ofJob = ({ claimed }: JobRun, tell: (live: LiveJob) => void) => {
      const live = this.#running.get(claimed.id)
      if (live?.claimed === claimed) tell(live)
    }
    return {
      clock,
      fetch,
      concluded: (run, outcome) =>
        ofJob(run, (live) => {
          live.run = undefined
          live.actors.send(run.claimed.id, { type: 'CONCLUDED', outcome })
        }),
      performed: (run, event) =>
        ofJob(run, (live) => {
          live.run = undefined
          live.actors.send(run.claimed.id, event)
        }),
      checkpoint: async ({ claimed }, checkpoint) => {
        const live = this.#running.get(claimed.id)
        if (live?.claimed !== claimed) return
        live.actors.send(claimed.id, { type: 'CHECKPOINTED', checkpoint })
        await live.actors.saved(claimed.id)
      },
      progress: (run, done, total, note) =>
        ofJob(run, (live) => {
          live.progress = { done, total, note }
          this.#armProgress()
          this.#teller.tell('job.progressed', live, () => ({ done, total }))
        }),
      log: (run, message, fields) =>
        ofJob(run, (live) => {
          this.#teller.tell('job.logged', live, () => ({
            message,
            fields,
            ...tracingOf(run.claimed),
          }))
        }),
      deaf: ({ claimed, command }, reason) => {
        const { attempt } = command
        this.#teller.tell('job.deaf', { claimed, attempt }, () => ({ reason }))
      },
    }
  }

  #countAttempt(live: LiveJob, attempt: number, fence: number): void {
    const { id } = live.claimed
    this.#settler.note({ id, fence, attempt }, (verdict) => {
      if (this.#running.get(id) !== live) return
      if (verdict === 'noted') live.actors.send(id, { type: 'COUNTED', attempt })
      else this.#lost(live)
    })
  }

  #settle(live: LiveJob, decision: Decision, fence: number): void {
    const { id } = live.claimed
    const settlement = settlementOf({ id, fence }, decision, this.#options.clock.now())
    this.#settler.settle(settlement, (verdict) => {
      // Given up meanwhile: an actor of that name is another life of the job.
      if (this.#running.get(id) !== live) return
      if (verdict === 'lost') {
        this.#lost(live)
        return
      }
      live.actors.send(id, { type: 'SETTLED' })
      const as = verdict === 'overtaken' ? 'skipped' : settledAs[settlement.kind]
      if ('delayMs' in settlement) this.#options.onDelayed(settlement.delayMs)
      this.#end(live, () =>
        this.#teller.tell('job.settled', live, () => ({
          as,
          error: 'error' in settlement ? settlement.error : null,
        })),
      )
    })
  }

  #lost(live: LiveJob): void {
    this.#callOff(live)
    this.#end(live, () => this.#tellLost(live))
  }

  // ── telling ─────────────────────────────────────────────────────────────────────────────────

  /** What a handler reports may come a thousand times a second; people look twice. */
  #armProgress(): void {
    if (this.#isProgressArmed) return
    this.#isProgressArmed = true
    const { clock } = this.#options
    clock.wakeAt(clock.now() + PROGRESS_EVERY_MS, () => {
      this.#isProgressArmed = false
      for (const live of this.#running.values()) this.#passProgressOn(live)
    })
  }

  #passProgressOn(live: LiveJob): void {
    const { progress, claimed, actors } = live
    if (!progress) return
    live.progress = undefined
    actors.send(claimed.id, { type: 'PROGRESSED', progress })
    const note = { id: claimed.id, fence: claimed.fence, progress: JSON.stringify(progress) }
    this.#settler.note(note, () => {})
  }

  #tellLost(live: LiveJob): void {
    this.#teller.tell('job.lost', live, () => ({}))
  }
}

type StopReason = 'cancelled' | 'leaseLost' | 'drained' | 'timedOut' | 'restarted'

const reasonText: Readonly<Record<StopReason, string>> = {
  cancelled: 'it was cancelled',
  leaseLost: 'its lease was lost, and another node may have it',
  drained: 'the process stops; it goes on elsewhere or later',
  timedOut: 'it took too long',
  restarted: 'it begins once more',
}

function fresh({ attempt }: ClaimedJob): Pick<LiveJob, 'attempt' | 'run' | 'progress'> {
  return { attempt, run: undefined, progress: undefined }
}
