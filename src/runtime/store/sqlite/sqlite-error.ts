/**
 * SQLite's result codes in the words of the store: what passes by itself or with a little help is
 * `StoreUnavailable`, what somebody must repair is `StoreRefused`, and a mistake of ours stays what
 * it is.
 */
import { StoreRefused, StoreUnavailable } from '../job-store.ts'

interface Trouble {
  /** Of `StoreUnavailable`; without one the database cannot be used until it has been repaired. */
  readonly code?: string
  readonly advice: string
}

const busy: Trouble = {
  code: 'database.busy',
  advice: 'another process has it locked. Stop that process, or use another data directory.',
}

/** By SQLite's primary result codes, as far as an operator can do something about them. */
const troubles: Readonly<Record<number, Trouble>> = {
  5: busy,
  6: busy,
  8: {
    code: 'database.readOnly',
    advice: 'it is read-only. Make the file and its directory writable for this user.',
  },
  10: {
    code: 'database.away',
    advice: 'the disk does not answer. Look at the disk and at the log of the operating system.',
  },
  11: { advice: 'the file is damaged. Put it aside and restore it from a backup.' },
  13: { code: 'disk.full', advice: 'the disk is full. Make room; nothing accepted is lost.' },
  14: {
    code: 'database.away',
    advice: 'there is no such directory, or it is not writable. Create it, or choose another path.',
  },
  26: {
    advice: 'the file is not a SQLite database. Choose another path, or move that file away.',
  },
}

/** The error to reject a call with. */
export function storeError(error: unknown): unknown {
  const trouble = troubleOf(error)
  if (!trouble) return error
  const message = `The database cannot be used: ${trouble.advice}`
  return trouble.code
    ? new StoreUnavailable(trouble.code, message, { cause: error })
    : new StoreRefused(message, { cause: error })
}

/** What to do about it, or else what SQLite says. */
export function adviceOn(error: unknown): string {
  return troubleOf(error)?.advice ?? (error instanceof Error ? error.message : String(error))
}

export function isBusy(error: unknown): boolean {
  return troubleOf(error) === busy
}

function troubleOf(error: unknown): Trouble | undefined {
  if (!(error instanceof Error && 'errcode' in error && typeof error.errcode === 'number')) return
  // The upper bits tell how it came about; the primary code is in the lowest eight.
  return troubles[error.errcode & 0xff]
}
