/**
 * What the runtime tells, passed on to whoever listens over HTTP. Each event is written down once,
 * however many listen, and not at all while nobody does.
 */
import type { ServerResponse } from 'node:http'
import type { Cancel, Clock } from '../actors/ports.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { RuntimeEventMap } from '../runtime/runtime-events.ts'
import { finalStates } from '../runtime/store/job-store.ts'
import { EventStream, eventFrame, pingFrame, streamLimits } from './event-stream.ts'
import { Problem } from './problem.ts'

type EventName = keyof RuntimeEventMap

/** Every event there is; the compiler asks for the missing ones. */
const eventNames = Object.keys({
  'jobs.submitted': true,
  'jobs.claimed': true,
  'job.started': true,
  'job.logged': true,
  'job.progressed': true,
  'job.settled': true,
  'job.lost': true,
  'job.deaf': true,
  'node.enlisted': true,
  'node.leaseLost': true,
  'jobs.rescued': true,
  'outbox.relayed': true,
  'schedules.fired': true,
  'schedule.refused': true,
  'jobs.pruned': true,
  'tasks.requeued': true,
  'queue.paused': true,
  'queue.resumed': true,
  'duty.failed': true,
  'duty.recovered': true,
} satisfies Record<EventName, true>) as EventName[]

/** Those who want to hear everything, among those who follow one job. */
const EVERYTHING = ''

export class EventFeed {
  readonly #runtime: Pick<Runtime, 'on'>
  readonly #clock: Clock
  /** By the job they follow. */
  readonly #streams = new Map<string, Set<EventStream>>()
  #open = 0
  #isOver = false
  #cancels: Cancel[] = []

  constructor(runtime: Pick<Runtime, 'on'>, clock: Clock) {
    this.#runtime = runtime
    this.#clock = clock
  }

  /** Throws a `Problem` when there can be no more streams, now or at all. */
  assertRoom(): void {
    if (this.#isOver) throw new Problem('process.notReady', 'The process stops: ask again shortly.')
    if (this.#open >= streamLimits.streamsMax)
      throw new Problem(
        'streams.full',
        `${this.#open} clients follow events already: end a stream, or try again later.`,
        { retryAfterMs: streamLimits.pingMs },
      )
  }

  /** Without a job: everything. The stream of a job ends with the job. */
  follow(response: ServerResponse, jobId = EVERYTHING): EventStream {
    const followers = this.#streams.get(jobId) ?? new Set()
    const stream = new EventStream(response, () => {
      followers.delete(stream)
      if (followers.size === 0) this.#streams.delete(jobId)
      if (--this.#open === 0) this.#stopListening()
    })
    this.#streams.set(jobId, followers.add(stream))
    if (++this.#open === 1) this.#listen()
    return stream
  }

  /** Ends every stream, and lets no new one begin. */
  end(): void {
    this.#isOver = true
    for (const stream of this.#everybody()) stream.end()
  }

  #listen(): void {
    this.#cancels = eventNames.map((name) =>
      this.#runtime.on(name, (event) => this.#pass(name, event)),
    )
    this.#ping()
  }

  #stopListening(): void {
    for (const cancel of this.#cancels.splice(0)) cancel()
  }

  #ping(): void {
    const cancel = this.#clock.wakeAt(this.#clock.now() + streamLimits.pingMs, () => {
      this.#cancels = this.#cancels.filter((each) => each !== cancel)
      for (const stream of this.#everybody()) stream.write(pingFrame)
      this.#ping()
    })
    this.#cancels.push(cancel)
  }

  #pass(name: EventName, event: object): void {
    const everything = this.#streams.get(EVERYTHING)
    const followers = 'id' in event ? this.#streams.get(String(event.id)) : undefined
    if (!everything && !followers) return
    const frame = eventFrame(name, event)
    const isLast = 'as' in event && finalStates.some((state) => state === event.as)
    for (const stream of everything ?? []) stream.write(frame)
    for (const stream of followers ?? []) {
      stream.write(frame)
      if (isLast) stream.end()
    }
  }

  #everybody(): EventStream[] {
    return [...this.#streams.values()].flatMap((streams) => [...streams])
  }
}
