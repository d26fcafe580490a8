/** What can be kept in the order of its last use; it carries its own links. */
export interface Recent<T> {
  usedAt: number
  newer: T | undefined
  older: T | undefined
}

/** A doubly linked list from the oldest to the newest use; every operation is O(1). */
export class Recency<T extends Recent<T>> {
  #newest: T | undefined
  #oldest: T | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  get oldest(): T | undefined {
    return this.#oldest
  }

  add(cell: T): void {
    cell.older = this.#newest
    if (this.#newest) this.#newest.newer = cell
    else this.#oldest = cell
    this.#newest = cell
    this.#size++
  }

  remove(cell: T): void {
    if (cell.newer) cell.newer.older = cell.older
    else this.#newest = cell.older
    if (cell.older) cell.older.newer = cell.newer
    else this.#oldest = cell.newer
    cell.newer = undefined
    cell.older = undefined
    this.#size--
  }

  touch(cell: T, at: number): void {
    cell.usedAt = at
    if (cell === this.#newest) return
    this.remove(cell)
    this.add(cell)
  }
}
