import { createRuntime } from '../../src/runtime/create-runtime.ts'
import type { Contestant, NumberedBody, Place } from '../queue/contestant.ts'
import { inBulks } from '../queue/in-bulks.ts'

const type = 'noop'

/** One runtime that produces and consumes; it rests by being paused. */
export async function open(place: Place): Promise<Contestant> {
  const { postgresUrl, redisUrl, directory, settings, onStart } = place
  const runtime = await createRuntime({
    data: directory,
    ...(postgresUrl ? { databaseUrl: postgresUrl, redisUrl } : {}),
    jobs: [
      { type, version: '1', run: async ({ body }: { body: NumberedBody }) => onStart(body.n) },
    ],
    concurrency: settings.concurrency as number,
  })
  await runtime.start()
  await runtime.pause()
  return {
    async enqueue(bodies) {
      await inBulks(bodies, settings, (bulk) =>
        runtime.submitMany(bulk.map((body) => ({ type, body }))),
      )
    },
    async add(body) {
      await runtime.submitMany([{ type, body }])
    },
    async work() {
      await runtime.resume()
    },
    async rest() {
      await runtime.pause()
    },
    async unfinished() {
      const { live, ended } = await runtime.stats()
      const { done: _, ...failures } = ended
      return [...Object.values(live), ...Object.values(failures)].reduce((sum, n) => sum + n, 0)
    },
    async close() {
      await runtime.stop()
    },
  }
}
