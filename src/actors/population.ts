/** How many actors of one kind are in each state, and how many transitions they have made. */
export class Population {
  /** A state that has emptied keeps its place: actors come and go many times a second. */
  readonly #counts = new Map<string, { count: number }>()
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
    const counts = [...this.#counts].map(([state, { count }]) => [state, count] as const)
    const inhabited = counts.filter(([, count]) => count > 0)
    return Object.fromEntries(inhabited.sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  #add(state: string, change: number): void {
    const known = this.#counts.get(state)
    if (known) known.count += change
    else this.#counts.set(state, { count: change })
  }
}
