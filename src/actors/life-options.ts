import type { DeadLetters } from './dead-letters.ts'
import type { HostEvents } from './host-events.ts'
import type { Chance, Clock, SnapshotStore } from './ports.ts'
import type { SupervisionPolicy } from './supervision.ts'

export interface LifeLimits {
  readonly mailboxLettersMax: number
  /** Events one actor may handle before the next has its turn. */
  readonly fairShareEventsMax: number
  /** Events in one turn before input and output have theirs. */
  readonly turnEventsMax: number
  /** A change waits at most this long before it is written. */
  readonly snapshotDelayMs: number
  readonly snapshotWritesMax: number
}

export interface LifeOptions {
  readonly clock: Clock
  readonly chance: Chance
  readonly store: SnapshotStore
  readonly limits: LifeLimits
  readonly supervision: SupervisionPolicy
  readonly events: HostEvents
  readonly deadLetters: DeadLetters
  onTurnEnd(): void
}
