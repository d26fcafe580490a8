import type { SnapshotStore } from '../../../actors/ports.ts'
import { systemClock } from '../../clock.ts'
import { type JobStore, type StoreLimits, storeLimits } from '../job-store.ts'
import { postgresClaim } from './claim.ts'
import { type Database, openDatabase } from './database.ts'
import { postgresDesk } from './desk.ts'
import { type Announcer, openHints } from './hints.ts'
import { postgresIntake } from './intake.ts'
import { migrate } from './migrate.ts'
import { postgresNodes } from './nodes.ts'
import { postgresSnapshots } from './postgres-snapshots.ts'
import { postgresPrune } from './prune.ts'
import { postgresRelay } from './relay.ts'
import { postgresSchedules } from './schedules.ts'
import { postgresSettle } from './settle.ts'
import { postgresSteering } from './steering.ts'
import { postgresTasks } from './tasks.ts'
import { postgresTurns } from './turns.ts'
import { postgresUnderWay } from './under-way.ts'

export interface PostgresStoreOptions {
  /** postgresql://user:password@host:5432/database */
  readonly url: string
  /** All tables lie in it; several Decorums can share a database. */
  readonly schema?: string
  readonly connectionsMax?: number
  readonly limits?: Partial<StoreLimits>
  /** As `pg_stat_activity` shows it. */
  readonly applicationName?: string
  /** No LISTEN, no settings of sessions: for poolers such as PgBouncer in transaction mode. */
  readonly isPollOnly?: boolean
}

export interface PostgresStore extends JobStore {
  /** In the same database, for those who have no Redis. */
  readonly snapshots: SnapshotStore
}

/**
 * Any number of nodes on one PostgreSQL (14 or newer). Rejects with `StoreRefused` where somebody
 * has to do something first, and with `StoreUnavailable` where it is worth trying again.
 */
export async function openPostgresStore({
  url,
  schema = 'decorum',
  connectionsMax = 8,
  limits: given,
  applicationName = 'decorum',
  isPollOnly = false,
}: PostgresStoreOptions): Promise<PostgresStore> {
  const limits = { ...storeLimits, ...given }
  const options = { url, schema, connectionsMax, applicationName, isPollOnly }
  const database = openDatabase(options)
  try {
    await migrate(database)
  } catch (error) {
    await database.close()
    throw error
  }
  const hints = openHints(database, options, systemClock)
  return {
    ...jobsIn(database, limits, hints),
    snapshots: postgresSnapshots(database),
    onHint: hints.onHint,
    async close() {
      await hints.close()
      await database.close()
    },
  }
}

/** All the statements, on any way to the database. */
export function jobsIn(
  database: Database,
  limits: StoreLimits,
  hints: Announcer,
): Omit<JobStore, 'onHint' | 'close'> {
  return {
    ...postgresIntake(database, hints),
    claim: postgresClaim(database, limits),
    settle: postgresSettle(database, limits),
    ...postgresUnderWay(database, hints),
    ...postgresDesk(database),
    ...postgresSteering(database, limits, hints),
    ...postgresNodes(database, limits, hints),
    ...postgresRelay(database, hints),
    ...postgresSchedules(database, hints),
    ...postgresPrune(database),
    ...postgresTurns(database),
    tasks: postgresTasks(database),
  }
}
