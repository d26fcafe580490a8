/** It is in the store; the store could not take it; or nobody waits for it any more. */
export type CheckpointFate = 'stored' | 'failed' | 'dropped'

export type CheckpointWaiter = (fate: CheckpointFate) => void

/** Who waits for one actor's checkpoints to be written, each told once and in the order of coming. */
export class CheckpointWaiters {
  readonly #waiters: CheckpointWaiter[] = []
  /** How many of them, from the first, the write under way has what they wait for. */
  #covered = 0

  get size(): number {
    return this.#waiters.length
  }

  /** `isCovered`: what it waits for is in the write under way, and so is all that came before. */
  add(waiter: CheckpointWaiter, isCovered: boolean): void {
    this.#waiters.push(waiter)
    if (isCovered) this.#covered = this.#waiters.length
  }

  /** Waits for nothing of its own, only for its turn. */
  follow(waiter: CheckpointWaiter): void {
    this.add(waiter, this.#covered === this.#waiters.length)
  }

  /** A write of the actor's newest checkpoint begins. */
  cover(): void {
    this.#covered = this.#waiters.length
  }

  tellCovered(fate: CheckpointFate): void {
    while (this.#covered > 0) this.#tellNext(fate)
  }

  /** Also ends a telling that is under way: what one waiter does may make the others obsolete. */
  tellAll(fate: CheckpointFate): void {
    while (this.#waiters.length > 0) this.#tellNext(fate)
  }

  #tellNext(fate: CheckpointFate): void {
    this.#covered = Math.max(0, this.#covered - 1)
    this.#waiters.shift()?.(fate)
  }
}
