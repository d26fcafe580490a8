import { Logger, makeWorkerUtils, type Runner, run } from 'graphile-worker'
import { Pool } from 'pg'
import type { Contestant, Place } from '../queue/contestant.ts'
import { inBulks } from '../queue/in-bulks.ts'

const silent = new Logger(() => () => undefined)

/** A negative size or delay is the library's way of saying: not in batches, which is its default. */
export async function open({ postgresUrl, settings, onStart }: Place): Promise<Contestant> {
  const concurrency = settings.concurrency as number
  const pgPool = new Pool({ connectionString: postgresUrl, max: concurrency + 1 })
  // The library asks for both; an error here ends the trial through the call that met it.
  pgPool.on('error', () => undefined)
  pgPool.on('connect', (client) => client.on('error', () => undefined))
  const utils = await makeWorkerUtils({ pgPool, logger: silent })
  await utils.migrate()
  let runner: Runner | undefined
  return {
    async enqueue(bodies) {
      await inBulks(bodies, settings, (bulk) =>
        utils.addJobs(bulk.map((payload) => ({ identifier: 'noop', payload }))),
      )
    },
    async add(payload) {
      await utils.addJob('noop', payload)
    },
    async work() {
      runner = await run({
        pgPool,
        concurrency,
        logger: silent,
        noHandleSignals: true,
        taskList: { noop: async (payload) => onStart((payload as { n: number }).n) },
        parsedCronItems: [],
        preset: {
          worker: {
            localQueue: { size: settings.localQueueSize as number },
            completeJobBatchDelay: settings.batchDelayMs as number,
            failJobBatchDelay: settings.batchDelayMs as number,
          },
        },
      })
    },
    async rest() {
      await runner?.stop()
      runner = undefined
    },
    async unfinished() {
      const { rows } = await pgPool.query(
        'SELECT count(*)::int AS count FROM graphile_worker._private_jobs',
      )
      return rows[0].count
    },
    async close() {
      await runner?.stop()
      await utils.release()
      await pgPool.end()
    },
  }
}
