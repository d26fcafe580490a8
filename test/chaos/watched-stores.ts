/** The real stores, with somebody who writes down what passes and strikes at the points he is told. */
import type { DatabaseSync } from 'node:sqlite'
import type { SnapshotStore } from '../../src/actors/ports.ts'
import type { JobStore } from '../../src/runtime/store/job-store.ts'
import type { Chronicle } from './chronicle.ts'
import type { Striker } from './strike.ts'

export interface Watch {
  readonly chronicle: Chronicle
  readonly strike: Striker
  /** By job: under which fence this process holds it, which handlers are not told. */
  readonly fences: Map<string, number>
}

export function watchedStore(store: JobStore, { chronicle, strike, fences }: Watch): JobStore {
  const watched: Partial<JobStore> = {
    async claim(request) {
      const claim = await store.claim(request)
      for (const { id, fence } of claim.jobs) fences.set(id, fence)
      chronicle.write(
        ...claim.jobs.map(({ id, fence, attempt, attemptsMax, crashes }) => ({
          ...{ what: 'claimed' as const, id, fence, attempt, attemptsMax, crashes },
        })),
      )
      if (claim.jobs.length > 0) strike('after claim')
      return claim
    },

    async settle(nodeId, settlements) {
      strike('before settle')
      chronicle.write(
        ...settlements.map(({ id, fence, kind }) => ({
          ...{ what: 'settling' as const, id, fence, as: kind },
        })),
      )
      const verdicts = await store.settle(nodeId, settlements)
      strike('after settle')
      chronicle.write(
        ...settlements.map(({ id, fence, kind }, index) => ({
          ...{ what: 'settled' as const, id, fence, as: kind, verdict: verdicts[index]! },
        })),
      )
      return verdicts
    },

    async relay(rowsMax, read) {
      const relayed = await store.relay(rowsMax, (row) => {
        strike('in relay')
        return read(row)
      })
      if (relayed.moved > 0) strike('after relay')
      return relayed
    },
  }
  return new Proxy(store, {
    get(target, name) {
      const own = Reflect.get(watched, name)
      if (own) return own
      const value = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** For a store at the other end of a wire: the group has been sent, the answer is not passed on. */
export function watchedSnapshots(snapshots: SnapshotStore, strike: Striker): SnapshotStore {
  return {
    load: (ids) => snapshots.load(ids),
    write(writes) {
      const answer = snapshots.write(writes)
      for (const { kind } of writes) if (kind === 'save') strike('in snapshot write')
      return answer
    },
  }
}

/** For SQLite: inside the transaction, between one snapshot of the group and the next. */
export function watchSnapshotTable(database: DatabaseSync, strike: Striker): void {
  database.function('strike', () => {
    strike('in snapshot write')
    return null
  })
  for (const change of ['INSERT', 'UPDATE'])
    database.exec(`
      CREATE TEMP TRIGGER strike_on_${change} AFTER ${change} ON main.snapshots
      BEGIN SELECT strike(); END`)
}
