import type { SendVerdict } from '../../src/actors/actor-kind.ts'
import { ActorHost } from '../../src/actors/host.ts'
import { MemorySnapshots } from '../../src/actors/memory-snapshots.ts'
import {
  type Command,
  type Letter,
  type Machine,
  type MachineSnapshot,
  statechartOf,
  stateName,
} from '../../src/actors/statechart.ts'
import { VirtualClock } from '../../src/actors/virtual-clock.ts'

export const START_AT = 1_000_000

const KEY = 'it'

export interface HostedOptions<C extends Command> {
  readonly input?: object
  /** How long a change may wait for its write: what a crash can lose. */
  readonly snapshotDelayMs?: number
  readonly isWriteAhead?: boolean
  readonly chance?: () => number
  /** Hears every command at once, besides `performed`; throwing crashes the actor. */
  readonly perform?: (command: C, at: number) => void
}

/**
 * One actor on a real host, on time that moves only when told to, with a store that outlives the
 * host. An actor that crashes without being meant to fails the test that drives it.
 */
export class HostedMachine<E extends Letter, C extends Command, X> {
  readonly clock = new VirtualClock(START_AT)
  readonly crashes: unknown[] = []
  readonly #chart: ReturnType<typeof statechartOf>
  readonly #options: HostedOptions<C>
  readonly #snapshots = new MemorySnapshots()
  #performed: C[] = []
  #life: { host: ActorHost; actors: ReturnType<ActorHost['register']>; ended: string[] }

  constructor(machine: Machine, options: HostedOptions<C> = {}) {
    this.#chart = statechartOf(machine)
    this.#options = options
    this.#life = this.#start(options.input ?? {}, 0)
  }

  /** Delivered before it returns; refused letters are a mistake of the test. */
  send(event: E): this {
    const verdict: SendVerdict = this.#life.actors.send(KEY, event)
    if (verdict !== 'accepted') throw new Error(`${event.type} was not accepted: ${verdict}`)
    this.clock.settle()
    return this
  }

  advance(ms: number): this {
    this.clock.advance(ms)
    this.clock.settle()
    return this
  }

  /** What was asked for since the last time of asking. */
  take(): C[] {
    const performed = this.#performed
    this.#performed = []
    return performed
  }

  /** The name of its state; of the last one when it has ended or sleeps. */
  get state(): string {
    const { actors, ended } = this.#life
    const snapshot = actors.peek(KEY)
    return snapshot ? stateName(snapshot.value) : (ended.at(-1) ?? 'nothing')
  }

  get context(): X {
    return this.#snapshot.context
  }

  get now(): number {
    return this.clock.now()
  }

  get isHere(): boolean {
    return this.#life.actors.size > 0
  }

  /** Lets what waits to be written be written. */
  save(): this {
    return this.advance(this.#options.snapshotDelayMs ?? 0)
  }

  /** The process is killed; what was not yet written is lost. Another one starts after `downMs`. */
  crash({ downMs = 0, input, fence = 0 }: Restart = {}): this {
    this.#life.host.halt()
    this.clock.advance(downMs)
    return this.restart({ ...(input && { input }), fence })
  }

  /** Started again where nothing runs: after a crash, or when it was released. */
  restart({ input, fence = 0 }: Restart = {}): this {
    this.#life.host.halt()
    this.#life = this.#start(input ?? this.#options.input ?? {}, fence)
    return this
  }

  /** Puts it to sleep if it may be. */
  evict(): this {
    this.#life.host.evictIdle()
    this.clock.settle()
    return this
  }

  get #snapshot(): MachineSnapshot {
    const snapshot = this.#life.actors.peek(KEY)
    if (!snapshot) throw new Error(`It is not here; its last state was '${this.state}'.`)
    return snapshot
  }

  #start(input: object, fence: number) {
    const { chance = () => 0, snapshotDelayMs = 0, isWriteAhead = false, perform } = this.#options
    const host = new ActorHost({
      clock: this.clock,
      chance,
      snapshots: this.#snapshots,
      limits: { snapshotDelayMs },
    })
    const ended: string[] = []
    host.on('actor.crashed', ({ error }) => this.crashes.push(error))
    host.on('actor.finished', ({ state }) => ended.push(state))
    host.on('actor.evicted', () => ended.push('asleep'))
    const actors = host.register<Letter, C>({
      name: 'machine',
      chart: () => this.#chart,
      perform: (command) => {
        this.#performed.push(command)
        perform?.(command, this.clock.now())
      },
      isDurable: true,
      isWriteAhead,
      idleMs: 0,
    })
    actors.start(KEY, { input, fence })
    this.clock.settle()
    return { host, actors, ended }
  }
}

export interface Restart {
  readonly downMs?: number
  readonly input?: object
  readonly fence?: number
}
