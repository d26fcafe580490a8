/**
 * What PostgreSQL and its driver say, as the two things a caller can do about it: try again
 * (`StoreUnavailable`), or have somebody change something first (`StoreRefused`). Anything else is a
 * mistake in this program and stays what it is.
 */
import { StoreRefused, StoreUnavailable } from '../job-store.ts'

interface Reading {
  readonly matches: RegExp
  readonly code: string
  readonly advice: string
}

const away = 'Check that PostgreSQL runs and can be reached; this call may be repeated.'

// Class 08: the connection. 57P: shutdown, crash, starting up. The driver's own errors have no code.
const temporary: readonly Reading[] = [
  {
    matches: /^(53100|58030)$/,
    code: 'disk.full',
    advice: 'Its disk is full or failing: make room there; this call may be repeated.',
  },
  {
    matches: /^25006$/,
    code: 'database.readOnly',
    advice: 'It takes no writes: point DATABASE_URL at the primary, or end its read-only mode.',
  },
  {
    matches: /^(53300|53400)$/,
    code: 'database.busy',
    advice: 'It has no connection left: raise its max_connections, or let each node open fewer.',
  },
  {
    matches: /^(40001|40P01|55P03|57014|53200)$|Query read timeout/,
    code: 'database.busy',
    advice: 'It was too busy to answer in time; this call may be repeated.',
  },
  {
    matches:
      /^(08...|57P0[1-5]|E(CONN\w+|PIPE|TIMEDOUT|NOTFOUND|AI_AGAIN|HOSTUNREACH|HOSTDOWN|NETUNREACH|NETDOWN))$/,
    code: 'database.away',
    advice: away,
  },
  {
    matches:
      /Connection terminated|timeout exceeded when trying to connect|connection error and is not queryable|Client was closed/,
    code: 'database.away',
    advice: away,
  },
]

const refusals: readonly { readonly matches: RegExp; readonly advice: string }[] = [
  {
    matches: /^(28P01|28000)$|SASL|client password must be/,
    advice: 'It does not let this user in: correct user and password in DATABASE_URL.',
  },
  {
    matches: /^3D000$/,
    advice: 'There is no such database: create it (createdb), or correct DATABASE_URL.',
  },
  {
    matches: /^42501$/,
    advice:
      'This user lacks rights: let it create the schema (GRANT CREATE ON DATABASE …), or make it the owner of the schema.',
  },
  {
    matches: /^(3F000|42P01|42703|42883)$/,
    advice:
      'Its tables are not as this program made them: see `decorum doctor`, and restart to have missing ones made.',
  },
]

/** `where` names the server without its password. */
export function storeError(error: unknown, where: string): unknown {
  if (!(error instanceof Error) || error instanceof StoreRefused) return error
  const signs = [signOf(error), error.message]
  const said = error.message || signOf(error)
  const fault = temporary.find(({ matches }) => signs.some((sign) => matches.test(sign)))
  if (fault)
    return new StoreUnavailable(
      fault.code,
      `The database ${where} cannot be used now: ${said}. ${fault.advice}`,
      { cause: error },
    )
  const refusal = refusals.find(({ matches }) => signs.some((sign) => matches.test(sign)))
  if (refusal)
    return new StoreRefused(`The database ${where} cannot be used: ${said}. ${refusal.advice}`, {
      cause: error,
    })
  return error
}

function signOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : ''
}
