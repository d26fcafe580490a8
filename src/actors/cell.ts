import type { ActorKind } from './actor-kind.ts'
import { BoundedQueue } from './bounded-queue.ts'
import type { CheckpointWaiters } from './checkpoint-waiters.ts'
import type { EvictionReason } from './host-events.ts'
import type { Population } from './population.ts'
import type { Recency, Recent } from './recency.ts'
import type { Command, InspectedStep, Letter, MachineSnapshot, Statechart } from './statechart.ts'
import type { Timed } from './timer-heap.ts'

/**
 * loading      its snapshot is being fetched; letters wait
 * live         steps as letters come
 * evicting     goes as soon as its snapshot is safe; a letter that comes before keeps it alive
 * restarting   crashed, waits out its delay; letters wait
 * quarantined  crashed too often; waits for a person, and refuses letters
 * gone         finished, evicted or fenced out: no longer in any map
 */
export type CellPhase = 'loading' | 'live' | 'evicting' | 'restarting' | 'quarantined' | 'gone'

/** Sees every step of one actor, with the exact transitions taken. */
export type Inspector = (step: InspectedStep) => void

/** All actors of one kind. */
export interface CellGroup {
  readonly kind: ActorKind<Letter, Command>
  readonly cells: Map<string, Cell>
  /** Those who are not on their way out. */
  readonly recency: Recency<Cell>
  readonly population: Population
  readonly inspectors: Map<string, Set<Inspector>>
}

export interface CellOrigin {
  readonly input: object
  readonly fence: number
  readonly since: number
  readonly usedAt: number
  readonly lettersMax: number
}

/** One actor: its snapshot and what the host keeps beside it. Data only; the host does the work. */
export class Cell implements Timed, Recent<Cell> {
  readonly group: CellGroup
  readonly key: string
  readonly chart: Statechart
  /** Kept because a restart may have to begin again. */
  readonly input: object
  readonly fence: number
  /** The oldest fence whose snapshots are of this life. */
  readonly since: number
  readonly mailbox: BoundedQueue<Letter>

  phase: CellPhase = 'loading'
  snapshot: MachineSnapshot | undefined
  /** The last state it may be restored to: what a write stores. */
  checkpoint: MachineSnapshot | undefined
  /** The name it is counted under in the population. */
  state: string | undefined
  crashes: readonly number[] | undefined
  inspectors: ReadonlySet<Inspector> | undefined

  isQueued = false
  /** It has a state to go on from, and its machine is still to be told so. */
  isToResume = false
  /** Its deadline has come and the DUE is still to be delivered. */
  isDue = false
  /** Has a checkpoint that no write has begun to store. */
  isDirty = false
  isWriting = false
  /** Who waits for its writes: commands held back, and whoever asked whether it is saved. */
  waiters: CheckpointWaiters | undefined
  /** Something of it may rest in the store and has to be removed at its end. */
  isStored = false
  seq = 0
  evictionReason: EvictionReason | undefined

  usedAt: number
  newer: Cell | undefined
  older: Cell | undefined

  heapIndex = -1
  heapAt = 0
  heapOrder = 0

  constructor(group: CellGroup, key: string, origin: CellOrigin) {
    this.group = group
    this.key = key
    this.chart = group.kind.chart(key)
    this.input = origin.input
    this.fence = origin.fence
    this.since = origin.since
    this.usedAt = origin.usedAt
    this.mailbox = new BoundedQueue(origin.lettersMax)
  }

  /** Its name in the snapshot store. */
  get id(): string {
    return `${this.group.kind.name}/${this.key}`
  }

  /** Commands are held back until a write, or somebody wants to know about it. */
  get isAwaited(): boolean {
    return this.waiters !== undefined && this.waiters.size > 0
  }

  /** Nothing to do, nothing to wait for, and in a state it may sleep in and be restored to. */
  get isAtRest(): boolean {
    return (
      this.phase === 'live' &&
      this.snapshot !== undefined &&
      !this.isToResume &&
      !this.isDue &&
      this.mailbox.size === 0 &&
      !this.isAwaited &&
      this.heapIndex < 0 &&
      this.snapshot.tags.has('evictable') &&
      this.snapshot.tags.has('checkpoint')
    )
  }
}
