import { deadlineOf } from './deadline.ts'
import type { StoredSnapshot } from './ports.ts'
import type { MachineSnapshot, PersistedState, Statechart } from './statechart.ts'

/** Turns the state written by one version into that of the next. */
export interface Migration {
  readonly to: string
  migrate(state: PersistedState): PersistedState
}

/** Keyed by the version a snapshot was written with. */
export type Migrations = Readonly<Record<string, Migration>>

interface Envelope extends PersistedState {
  readonly machine: string
  readonly version: string
}

export type Decoded =
  | { readonly kind: 'restored'; readonly snapshot: MachineSnapshot }
  | { readonly kind: 'unusable'; readonly reason: string }

export function encodeSnapshot(chart: Statechart, snapshot: MachineSnapshot): string {
  const envelope: Envelope = {
    machine: chart.machine.id,
    version: chart.version,
    ...chart.persist(snapshot),
  }
  return JSON.stringify(envelope)
}

/** Never throws: what cannot be used comes back with the reason, and the actor starts afresh. */
export function decodeSnapshot(
  chart: Statechart,
  stored: StoredSnapshot,
  migrations: Migrations = {},
): Decoded {
  try {
    const { machine, version, ...state } = parseEnvelope(stored.text)
    if (machine !== chart.machine.id)
      return unusable(`it belongs to machine '${machine}', not '${chart.machine.id}'`)
    const snapshot = chart.restore(migrated(state, version, chart, migrations))
    deadlineOf(snapshot)
    return { kind: 'restored', snapshot }
  } catch (error) {
    return unusable(error instanceof Error ? error.message : String(error))
  }
}

function parseEnvelope(text: string): Envelope {
  const parsed: unknown = JSON.parse(text)
  if (!isRecord(parsed)) throw new Error('it is not an object')
  const { machine, version, value, context, history } = parsed
  if (typeof machine !== 'string' || typeof version !== 'string')
    throw new Error('it does not name its machine and version')
  if (!(typeof value === 'string' || isRecord(value)) || !isRecord(context))
    throw new Error('it has no state')
  return { machine, version, value: value as PersistedState['value'], context, history }
}

function migrated(
  state: PersistedState,
  version: string,
  chart: Statechart,
  migrations: Migrations,
): PersistedState {
  const seen = new Set<string>()
  while (version !== chart.version) {
    const migration = seen.has(version) ? undefined : migrations[version]
    if (!migration)
      throw new Error(
        `it was written by version ${version}, and no migration leads from there to version ${chart.version}`,
      )
    seen.add(version)
    state = migration.migrate(state)
    version = migration.to
  }
  return state
}

function unusable(reason: string): Decoded {
  return { kind: 'unusable', reason }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
