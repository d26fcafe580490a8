import type { Cell } from './cell.ts'

interface Count {
  lettersAhead: number
  readonly tell: (isHandled: boolean) => void
}

/** Tells when an actor has handled the letters it has now, or that it will not. */
export class LetterCountdown {
  readonly #counts = new Map<Cell, Count[]>()

  whenHandled(cell: Cell, tell: (isHandled: boolean) => void): void {
    const lettersAhead = cell.mailbox.size
    if (lettersAhead === 0) {
      tell(true)
      return
    }
    const counts = this.#counts.get(cell)
    if (counts) counts.push({ lettersAhead, tell })
    else this.#counts.set(cell, [{ lettersAhead, tell }])
  }

  /** The cell has handled one. */
  letterHandled(cell: Cell): void {
    const counts = this.#counts.size > 0 && this.#counts.get(cell)
    if (!counts) return
    for (const count of counts) count.lettersAhead--
    while (counts[0]?.lettersAhead === 0) counts.shift()!.tell(true)
    if (counts.length === 0) this.#counts.delete(cell)
  }

  /** The cell may not come to the rest of its letters. */
  giveUp(cell: Cell): void {
    const counts = this.#counts.size > 0 && this.#counts.get(cell)
    if (!counts) return
    this.#counts.delete(cell)
    for (const { tell } of counts) tell(false)
  }

  giveUpAll(): void {
    for (const cell of this.#counts.keys()) this.giveUp(cell)
  }
}
