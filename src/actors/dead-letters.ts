import type { SendVerdict } from './actor-kind.ts'

/** Refused when sent, thrown upon, or still waiting when the actor ended. */
export type DeadReason = Exclude<SendVerdict, 'accepted'> | 'crashed' | 'ended'

export interface DeadLetter {
  readonly kind: string
  readonly key: string
  readonly event: { readonly type: string }
  readonly reason: DeadReason
  readonly at: number
}

/** The newest letters nobody could take, and how many there have been for each reason. */
export class DeadLetters {
  readonly #lettersMax: number
  readonly #letters: DeadLetter[] = []
  #next = 0
  readonly #counts = new Map<DeadReason, number>()

  constructor(lettersMax: number) {
    this.#lettersMax = lettersMax
  }

  add(letter: DeadLetter): void {
    this.#counts.set(letter.reason, (this.#counts.get(letter.reason) ?? 0) + 1)
    this.#letters[this.#next] = letter
    this.#next = (this.#next + 1) % this.#lettersMax
  }

  /** Oldest first. */
  list(): readonly DeadLetter[] {
    return [...this.#letters.slice(this.#next), ...this.#letters.slice(0, this.#next)]
  }

  get counts(): Readonly<Partial<Record<DeadReason, number>>> {
    return Object.fromEntries(this.#counts)
  }
}
