/**
 * A first-in-first-out queue that costs nothing while empty. What does not fit is refused, and the
 * one who brought it is told.
 */
export class BoundedQueue<T> {
  readonly #itemsMax: number
  #items: T[] | undefined
  #head = 0

  constructor(itemsMax: number) {
    this.#itemsMax = itemsMax
  }

  get size(): number {
    return this.#items ? this.#items.length - this.#head : 0
  }

  /** False when the queue is full. */
  push(item: T): boolean {
    if (this.size >= this.#itemsMax) return false
    this.#items ??= []
    this.#items.push(item)
    return true
  }

  shift(): T | undefined {
    const items = this.#items
    if (!items) return undefined
    const item = items[this.#head++]
    if (this.#head === items.length) this.#reset()
    // Without this a queue that is never quite empty would keep every item it ever had.
    else if (this.#head >= 1_024 && this.#head * 2 >= items.length) {
      this.#items = items.slice(this.#head)
      this.#head = 0
    }
    return item
  }

  /** Takes everything out, oldest first. */
  takeAll(): T[] {
    const items = this.#items?.slice(this.#head) ?? []
    this.#reset()
    return items
  }

  #reset(): void {
    this.#items = undefined
    this.#head = 0
  }
}
