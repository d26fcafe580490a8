import { createPostgresBackend, Queue, Worker, withBackend } from 'bullmq'
import type { Contestant, Place } from '../queue/contestant.ts'
import { inBulks } from '../queue/in-bulks.ts'

const queueName = 'bench'

/** What both of its backends offer and this benchmark uses. */
interface Backend {
  openQueue(): Pick<Queue, 'addBulk' | 'add' | 'getJobCounts' | 'waitUntilReady' | 'close'>
  openWorker(): Pick<Worker, 'run' | 'waitUntilReady' | 'close'>
}

export function open(place: Place): Promise<Contestant> {
  return opened(place, place.settings.onPostgres ? onPostgres(place) : onRedis(place))
}

function onRedis({ redisUrl, settings, onStart }: Place): Backend {
  const connection = { url: redisUrl, maxRetriesPerRequest: null }
  return {
    openQueue: () => new Queue(queueName, { connection }),
    openWorker: () =>
      new Worker(queueName, async (job) => onStart(job.data.n), {
        connection,
        autorun: false,
        concurrency: settings.concurrency as number,
      }),
  }
}

function onPostgres({ postgresUrl, settings, onStart }: Place): Backend {
  const bound = withBackend(createPostgresBackend)
  const connection = {
    connectionString: postgresUrl,
    max: settings.poolSize as number,
    migrate: true,
  }
  return {
    openQueue: () => new bound.Queue(queueName, { connection }),
    openWorker: () =>
      new bound.Worker(queueName, async (job) => onStart(job.data.n), {
        connection,
        autorun: false,
        concurrency: settings.concurrency as number,
      }),
  }
}

async function opened({ settings }: Place, backend: Backend): Promise<Contestant> {
  const queue = backend.openQueue()
  await queue.waitUntilReady()
  let worker = await readyWorker()
  return {
    async enqueue(bodies) {
      await inBulks(bodies, settings, (bulk) =>
        queue.addBulk(bulk.map((data) => ({ name: 'noop', data }))),
      )
    },
    async add(data) {
      await queue.add('noop', data)
    },
    async work() {
      void worker.run()
    },
    async rest() {
      await worker.close()
      worker = await readyWorker()
    },
    async unfinished() {
      const { completed: _, ...others } = await queue.getJobCounts()
      return Object.values(others).reduce((sum, count) => sum + count, 0)
    },
    async close() {
      await worker.close()
      await queue.close()
    },
  }

  async function readyWorker() {
    const ready = backend.openWorker()
    await ready.waitUntilReady()
    return ready
  }
}
