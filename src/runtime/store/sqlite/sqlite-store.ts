/**
 * Jobs, tasks and snapshots in one SQLite file. What is written in one turn of the event loop is one
 * transaction; what is only read is read at once, from what has been committed.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Clock, SnapshotStore } from '../../../actors/ports.ts'
import { type JobStore, type StoreLimits, storeLimits, type TaskStore } from '../job-store.ts'
import { claimStatement } from './claim.ts'
import { countsStatement, getStatement, lanesStatement, listStatement } from './desk.ts'
import { closed, GroupCommit } from './group-commit.ts'
import { addStatement } from './intake.ts'
import { migrate } from './migrate.ts'
import {
  beatStatement,
  enlistStatement,
  leaveStatement,
  nodesStatement,
  rescueStatement,
  runningOnStatement,
} from './nodes.ts'
import { cancellationsStatement, noteStatement, promoteStatement } from './on-the-way.ts'
import { pastAttemptsStatement } from './past-attempts.ts'
import { pauseStatement, pausesStatement, resumeStatement } from './pauses.ts'
import { pruneStatement } from './prune.ts'
import { relayStatement } from './relay.ts'
import {
  fireSchedulesStatement,
  putScheduleStatement,
  removeScheduleStatement,
  schedulesStatement,
} from './schedules.ts'
import { settleStatement } from './settle.ts'
import { fileGuard, openSqliteDatabase } from './sqlite-database.ts'
import { storeError } from './sqlite-error.ts'
import { sqliteSnapshots } from './sqlite-snapshots.ts'
import { cancelStatement, replayStatement } from './steering.ts'
import type { StoreContext } from './store-context.ts'
import {
  cancelTasksStatement,
  countTasksStatement,
  deleteTasksStatement,
  getTaskStatement,
  putTasksStatement,
  queueTasksStatement,
  requeueStrayStatement,
} from './tasks.ts'
import { takeTurnStatement } from './turns.ts'

export interface SqliteStore extends JobStore {
  /** In the same file, and written in the same transactions. */
  readonly snapshots: SnapshotStore
}

export interface SqliteStoreOptions {
  readonly clock: Clock
  readonly limits?: Partial<StoreLimits>
}

// Everything stands still while a statement waits for another process, and the caller may try again.
const busyMsMax = 1_000

/** `:memory:` is a store that ends with its process. A rejection says what to do about it. */
export async function openSqliteStore({
  path,
  ...options
}: SqliteStoreOptions & { readonly path: string }): Promise<SqliteStore> {
  const database = openSqliteDatabase(path, { busyMsMax })
  try {
    migrate(database, options.clock)
    return sqliteStore(database, options)
  } catch (error) {
    database.close()
    throw error
  }
}

type Hint = 'jobs' | 'cancel'
/** Answers the same call with a promise. */
type Promised<Call extends (...parameters: never[]) => unknown> = (
  ...parameters: Parameters<Call>
) => Promise<ReturnType<Call>>

/** For a database that has been migrated; the store closes it. */
export function sqliteStore(
  database: DatabaseSync,
  { clock, limits }: SqliteStoreOptions,
): SqliteStore {
  const context: StoreContext = { database, clock, limits: { ...storeLimits, ...limits } }
  const group = new GroupCommit({ database, clock, beforeCommit: fileGuard(database) })
  const listeners = new Set<(hint: Hint) => void>()

  const reads =
    <Call extends (...parameters: never[]) => unknown>(call: Call): Promised<Call> =>
    async (...parameters) => {
      if (!database.isOpen) throw closed()
      try {
        return call(...parameters) as ReturnType<Call>
      } catch (error) {
        throw storeError(error)
      }
    }

  /** `hintOf` says what others may want to know, once it is on the disk. */
  const writes =
    <Call extends (...parameters: never[]) => unknown>(
      call: Call,
      hintOf: (answer: ReturnType<Call>) => Hint | false = () => false,
    ): Promised<Call> =>
    async (...parameters) => {
      const answer = await group.run(() => call(...parameters) as ReturnType<Call>)
      const hint = hintOf(answer)
      if (hint) for (const listener of listeners) listener(hint)
      return answer
    }

  const add = addStatement(context)
  const snapshots = sqliteSnapshots(database)
  return {
    add: writes(add, () => 'jobs'),

    claim: writes(claimStatement(context)),
    settle: writes(settleStatement(context)),
    note: writes(noteStatement(context)),
    promote: writes(promoteStatement(context), ({ promoted }) => promoted > 0 && 'jobs'),
    cancellations: reads(cancellationsStatement(context)),

    get: reads(getStatement(context)),
    pastAttempts: reads(pastAttemptsStatement(context)),
    list: reads(listStatement(context)),
    counts: reads(countsStatement(context)),
    lanes: reads(lanesStatement(context)),
    cancel: writes(cancelStatement(context), (verdict) => verdict === 'requested' && 'cancel'),
    replay: writes(replayStatement(context), (ids) => ids.length > 0 && 'jobs'),
    pause: writes(pauseStatement(database)),
    resume: writes(resumeStatement(database), () => 'jobs'),
    pauses: reads(pausesStatement(database)),

    enlist: writes(enlistStatement(context), ({ recovered }) => recovered.requeued > 0 && 'jobs'),
    beat: writes(beatStatement(context)),
    rescue: writes(rescueStatement(context), ({ requeued }) => requeued > 0 && 'jobs'),
    leave: writes(leaveStatement(context)),
    nodes: reads(nodesStatement(context)),
    runningOn: reads(runningOnStatement(context)),

    relay: writes(relayStatement(context, add), ({ moved }) => moved > 0 && 'jobs'),
    putSchedule: writes(putScheduleStatement(context)),
    removeSchedule: writes(removeScheduleStatement(context)),
    schedules: reads(schedulesStatement(context)),
    fireSchedules: writes(fireSchedulesStatement(context, add), ({ fired }) => fired > 0 && 'jobs'),
    prune: writes(pruneStatement(context)),
    takeTurn: writes(takeTurnStatement(context)),

    tasks: taskStore(context, { reads, writes }),
    snapshots: { load: reads(snapshots.load), write: writes(snapshots.write) },

    onHint(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },

    async close() {
      if (!database.isOpen) return
      group.flush()
      database.close()
    },
  }
}

interface Ways {
  reads<Call extends (...parameters: never[]) => unknown>(call: Call): Promised<Call>
  writes<Call extends (...parameters: never[]) => unknown>(call: Call): Promised<Call>
}

function taskStore(context: StoreContext, { reads, writes }: Ways): TaskStore {
  return {
    put: writes(putTasksStatement(context)),
    get: reads(getTaskStatement(context)),
    counts: reads(countTasksStatement(context)),
    queue: writes(queueTasksStatement(context)),
    cancel: writes(cancelTasksStatement(context)),
    delete: writes(deleteTasksStatement(context)),
    requeueStray: writes(requeueStrayStatement(context)),
  }
}
