import type { Migrations } from './snapshot-codec.ts'
import type { Command, Letter, Statechart } from './statechart.ts'

/** One kind of actor: its machine, and who performs what the machine asks for. */
export interface ActorKind<E extends Letter, C extends Command> {
  /** One word, unique on the host: `limiter`, `breaker`, `job`. */
  readonly name: string
  /** Machines may differ by key in configuration, never in version. */
  chart(key: string): Statechart
  /**
   * Makes the input of an actor that a letter calls into being. Without it actors of this kind
   * come only through `start`, and a letter to an absent one is a dead letter.
   */
  input?(key: string): object
  /** Must not wait: the answer comes back as an event. Throwing crashes the actor that asked. */
  perform(command: C, key: string): void
  /** Keep snapshots. Without it an actor lives in memory only and is never evicted. */
  readonly isDurable: boolean
  /**
   * What a step asks for is performed only when its checkpoint is in the store, so that no crash can
   * fall back behind a state whose command was performed. Exempt are an actor's first step, states
   * without the tag `checkpoint` or with the tag `repeatable`, and all while the store is away.
   */
  readonly isWriteAhead?: boolean
  readonly migrations?: Migrations
  /** Told to an actor whose snapshot was refused because somebody else has taken over. */
  readonly onFenced?: E
  /** Idle actors are put to sleep after this long, and the least recently used over the cap. */
  readonly idleMs?: number
  readonly actorsMax?: number
}

export interface StartOptions {
  readonly input: object
  readonly fence?: number
  /** The caller knows that nothing is stored: the look-up is skipped. */
  readonly isNew?: boolean
  /** What is stored under an older fence belongs to a former life and does not count. */
  readonly since?: number
}

export type SendVerdict =
  | 'accepted'
  | 'unknownEvent'
  | 'overflow'
  | 'quarantined'
  | 'absent'
  | 'stopped'
