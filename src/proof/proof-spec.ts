import type { Machine, MachineSnapshot, StampedEvent } from '../actors/statechart.ts'

/** What a proof needs to know about a machine besides the machine itself. */
export interface ProofSpec {
  readonly machine: Machine
  /** The bounds of the walk, for people. */
  readonly bounds: string
  readonly input: object
  readonly startAt: number
  /** States in which an actor may stay for good, besides the final ones. */
  readonly rests: readonly string[]
  /**
   * Everything that may happen in a configuration. Time passes only here: an event may come now, or
   * later as long as no deadline lies between; DUE comes at the deadline.
   */
  events(snapshot: MachineSnapshot, now: number): Iterable<StampedEvent>
  /**
   * What the machine's behaviour depends on: instants relative to `now` (machines know only
   * differences), and nothing that no guard and no other field reads. Two configurations with the
   * same view behave alike; leaving out more would hide states.
   */
  view(context: Readonly<Record<string, unknown>>, now: number): unknown
}
