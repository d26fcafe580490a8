/** How many actors of one kind are in each state, and how many transitions they have made. */
export class Population {
  readonly #counts = new Map<string, number>()
  #transitions = 0

  /** Moves one actor; undefined stands for "not here", before its birth or after its end. */
  move(from: string | undefined, to: string | undefined): void {
    if (from === to) return
    if (from !== undefined) this.#add(from, -1)
    if (to !== undefined) this.#add(to, 1)
  }

  transitioned(): void {
    this.#transitions++
  }

  /** Total since the start; a reader that samples it twice has the rate. */
  get transitions(): number {
    return this.#transitions
  }

  get states(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  #add(state: string, change: number): void {
    const count = (this.#counts.get(state) ?? 0) + change
    if (count === 0) this.#counts.delete(state)
    else this.#counts.set(state, count)
  }
}
