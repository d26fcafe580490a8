/**
 * All writes asked for in one turn of the event loop are one transaction and one flush of the disk.
 * Each stands for itself: one that throws takes back only what it did. A promise resolves when its
 * write is on the disk; when the transaction itself fails, none has happened and all reject.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../../actors/ports.ts'
import { StoreUnavailable } from '../job-store.ts'
import { storeError } from './sqlite-error.ts'

interface Waiting {
  readonly work: () => unknown
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
}

export interface GroupCommitOptions {
  readonly database: DatabaseSync
  readonly clock: Clock
  /** Throws when a commit would be worth nothing. */
  readonly beforeCommit?: () => void
}

export class GroupCommit {
  readonly #database: DatabaseSync
  readonly #clock: Clock
  readonly #beforeCommit: () => void
  #waiting: Waiting[] = []

  constructor({ database, clock, beforeCommit = () => {} }: GroupCommitOptions) {
    this.#database = database
    this.#clock = clock
    this.#beforeCommit = beforeCommit
  }

  /** `work` runs later in this turn, at once with others, and must not await. */
  run<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (!this.#database.isOpen) return reject(closed())
      this.#waiting.push({ work, resolve: resolve as Waiting['resolve'], reject })
      if (this.#waiting.length === 1) this.#clock.soon(() => this.flush())
    })
  }

  /** Commits what is waiting, now. */
  flush(): void {
    const group = this.#waiting
    this.#waiting = []
    if (group.length === 0) return
    try {
      for (const answer of this.#commit(group)) answer()
    } catch (error) {
      // A full disk makes SQLite roll back by itself; a second ROLLBACK would hide the first error.
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      const reason = storeError(error)
      for (const { reject } of group) reject(reason)
    }
  }

  #commit(group: readonly Waiting[]): (() => void)[] {
    // Alone, a failing write may take the whole transaction with it, and the savepoint is saved.
    const perform = group.length === 1 ? performAlone : (one: Waiting) => this.#performApart(one)
    this.#database.exec('BEGIN IMMEDIATE')
    const answers = group.map(perform)
    this.#beforeCommit()
    this.#database.exec('COMMIT')
    return answers
  }

  #performApart({ work, resolve, reject }: Waiting): () => void {
    const database = this.#database
    database.exec('SAVEPOINT apart')
    try {
      const answer = work()
      database.exec('RELEASE apart')
      return () => resolve(answer)
    } catch (error) {
      // Rolled back as a whole: the others' work is gone as well, and they must learn it.
      if (!database.isTransaction) throw error
      database.exec('ROLLBACK TO apart; RELEASE apart')
      return () => reject(storeError(error))
    }
  }
}

function performAlone({ work, resolve }: Waiting): () => void {
  const answer = work()
  return () => resolve(answer)
}

export function closed(): StoreUnavailable {
  return new StoreUnavailable('database.away', 'The store has been closed: open it again.')
}
