/**
 * This node's lease on the jobs it runs. One beat renews them all. Who cannot renew for
 * `abandonMs` has to assume that others are about to take over, and lets go before they may.
 */
import type { Cancel, Clock } from '../actors/ports.ts'
import type { TypedEvents } from '../actors/typed-events.ts'
import { Duty, type DutyWorld } from './duty.ts'
import type { RuntimeEventMap } from './runtime-events.ts'
import { type NodeCard, type NodeRegistry, storeLimits } from './store/job-store.ts'

export interface LeaseOptions {
  readonly clock: Clock
  readonly registry: NodeRegistry
  readonly node: NodeCard
  readonly events: TypedEvents<RuntimeEventMap>
  readonly duties: DutyWorld
  readonly leaseMs?: number
  /** Drops everything that runs; gives the number. */
  loseAll(): number
  /** Enlisted anew: there may be something to claim. */
  onEnlisted(): void
}

export class Lease {
  readonly #options: LeaseOptions
  readonly #leaseMs: number
  readonly #heartbeat: Duty
  /** Undefined between losing the lease and enlisting again: nothing may be claimed then. */
  #epoch: number | undefined
  #beatAt = 0
  #cancelWatch: Cancel | undefined

  constructor(options: LeaseOptions) {
    this.#options = options
    this.#leaseMs = options.leaseMs ?? storeLimits.leaseMs
    this.#heartbeat = new Duty(
      { name: 'heartbeat', everyMs: this.#leaseMs / 3, runOnce: (at) => this.#beat(at) },
      options.duties,
    )
  }

  get epoch(): number | undefined {
    return this.#epoch
  }

  /** The first time, also when the store refuses: the caller wants to know. */
  async begin(): Promise<void> {
    await this.#enlist(this.#options.clock.now())
    this.#heartbeat.start()
  }

  async end(): Promise<void> {
    await this.#heartbeat.stop()
    this.#cancelWatch?.()
    const epoch = this.#epoch
    this.#epoch = undefined
    if (epoch === undefined) return
    const { registry, node, duties } = this.#options
    try {
      await registry.leave(node.id, epoch)
    } catch (error) {
      // The lease ends by itself.
      duties.onFailed(this.#heartbeat.name, error, 1)
    }
  }

  /** Given up locally at two thirds of the lease: work that nobody may save is not worth doing. */
  assertHeld(at: number): void {
    if (this.#epoch === undefined || at - this.#beatAt < (this.#leaseMs * 2) / 3) return
    this.#abandon('the lease could not be renewed in time')
  }

  async #beat(at: number): Promise<number> {
    if (this.#epoch === undefined) await this.#enlist(at)
    else {
      this.assertHeld(at)
      if (this.#epoch === undefined) return 0
      // Wakes even when the answer never comes.
      this.#watch()
      const { registry, node } = this.#options
      const verdict = await registry.beat(node.id, this.#epoch)
      if (verdict === 'renewed') this.#beatAt = at
      else if (this.#epoch !== undefined) this.#abandon('others have taken over its jobs')
    }
    return this.#epoch === undefined ? 0 : this.#leaseMs / 3
  }

  #watch(): void {
    const { clock } = this.#options
    const giveUpAt = this.#beatAt + (this.#leaseMs * 2) / 3
    // One is enough, and none may keep a process alive that has ended its lease.
    this.#cancelWatch?.()
    this.#cancelWatch = clock.wakeAt(giveUpAt, () => this.assertHeld(clock.now()))
  }

  #abandon(reason: string): void {
    const { clock, events, loseAll } = this.#options
    this.#epoch = undefined
    const jobs = loseAll()
    events.emit('node.leaseLost', () => ({ at: clock.now(), jobs, reason }))
    this.#heartbeat.wake()
  }

  async #enlist(at: number): Promise<void> {
    const { registry, node, events, onEnlisted } = this.#options
    const { epoch, recovered } = await registry.enlist(node)
    this.#epoch = epoch
    this.#beatAt = at
    events.emit('node.enlisted', () => ({ at, epoch, recovered }))
    onEnlisted()
  }
}
