/** What can stand in the heap: it keeps its own place, so moving it needs no search. */
export interface Timed {
  /** Owned by the heap; -1 while not in it. */
  heapIndex: number
  /** Owned by the heap: the instant it is set for. */
  heapAt: number
  /** Owned by the heap: breaks ties in the order of setting. */
  heapOrder: number
}

/** One binary heap for the deadlines of all actors: set, move and clear in O(log n). */
export class TimerHeap<T extends Timed> {
  readonly #items: T[] = []
  #order = 0

  get size(): number {
    return this.#items.length
  }

  /** The earliest deadline, or undefined. */
  get nextAt(): number | undefined {
    return this.#items[0]?.heapAt
  }

  set(item: T, at: number): void {
    if (item.heapIndex >= 0 && item.heapAt === at) return
    const moved = item.heapIndex >= 0
    item.heapAt = at
    item.heapOrder = this.#order++
    if (!moved) {
      item.heapIndex = this.#items.length
      this.#items.push(item)
    }
    this.#sink(this.#rise(item.heapIndex))
  }

  clear(item: T): void {
    const index = item.heapIndex
    if (index < 0) return
    item.heapIndex = -1
    const last = this.#items.pop()!
    if (last === item) return
    this.#place(last, index)
    this.#sink(this.#rise(index))
  }

  /** Takes out the earliest item that is due, in the order of deadlines and then of setting. */
  takeDue(now: number): T | undefined {
    const first = this.#items[0]
    if (!first || first.heapAt > now) return undefined
    this.clear(first)
    return first
  }

  #rise(index: number): number {
    const item = this.#items[index]!
    while (index > 0) {
      const parentIndex = (index - 1) >> 1
      const parent = this.#items[parentIndex]!
      if (!isBefore(item, parent)) break
      this.#place(parent, index)
      index = parentIndex
    }
    this.#place(item, index)
    return index
  }

  #sink(index: number): void {
    const item = this.#items[index]!
    const count = this.#items.length
    for (;;) {
      let childIndex = 2 * index + 1
      if (childIndex >= count) break
      const right = this.#items[childIndex + 1]
      if (right && isBefore(right, this.#items[childIndex]!)) childIndex++
      const child = this.#items[childIndex]!
      if (!isBefore(child, item)) break
      this.#place(child, index)
      index = childIndex
    }
    this.#place(item, index)
  }

  #place(item: T, index: number): void {
    this.#items[index] = item
    item.heapIndex = index
  }
}

function isBefore(a: Timed, b: Timed): boolean {
  return a.heapAt < b.heapAt || (a.heapAt === b.heapAt && a.heapOrder < b.heapOrder)
}
