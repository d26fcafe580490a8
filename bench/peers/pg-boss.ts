import { Pool } from 'pg'
import { PgBoss } from 'pg-boss'
import type { Contestant, NumberedBody, Place } from '../queue/contestant.ts'
import { inBulks } from '../queue/in-bulks.ts'

const queueName = 'bench'

export async function open({ postgresUrl, settings, onStart }: Place): Promise<Contestant> {
  const boss = new PgBoss({
    connectionString: postgresUrl,
    max: settings.poolSize as number,
    useListenNotify: true,
  })
  boss.on('error', (error) => console.error(`pg-boss: ${error.message}`))
  await boss.start()
  await boss.createQueue(queueName, { notify: true })
  const counting = new Pool({ connectionString: postgresUrl, max: 1 })
  return {
    async enqueue(bodies) {
      await inBulks(bodies, settings, (bulk) =>
        boss.insert(
          queueName,
          bulk.map((data) => ({ data })),
        ),
      )
    },
    async add(body) {
      await boss.send(queueName, body)
    },
    async work() {
      await boss.work<NumberedBody>(
        queueName,
        {
          batchSize: settings.batchSize as number,
          localConcurrency: settings.localConcurrency as number,
          burstWhenBatchFull: true,
        },
        async (jobs) => {
          for (const { data } of jobs) onStart(data.n)
        },
      )
    },
    async rest() {
      await boss.offWork(queueName)
    },
    async unfinished() {
      const { rows } = await counting.query(
        "SELECT count(*)::int AS count FROM pgboss.job WHERE name = $1 AND state <> 'completed'",
        [queueName],
      )
      return rows[0].count
    },
    async close() {
      await boss.stop({ graceful: false })
      await counting.end()
    },
  }
}
