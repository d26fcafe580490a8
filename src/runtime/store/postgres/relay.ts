import type { NewJob, OutboxRow, Upkeep } from '../job-store.ts'
import type { Database } from './database.ts'
import type { Announcer } from './hints.ts'
import { insertJobs } from './intake.ts'
import { jsonRows } from './json-rows.ts'

/**
 * Makes jobs of outbox rows and removes those rows, in one transaction: each row once, whoever moves
 * it. Rows are taken because they are there, not because their number comes next, so one that was
 * committed late is taken late. A row whose key has a job already goes too: the first job stands.
 */
export function postgresRelay(database: Database, hints: Announcer): Pick<Upkeep, 'relay'> {
  const s = database.schema

  return {
    async relay(rowsMax, read) {
      const relayed = await database.transaction(async (statements) => {
        const rows = await statements.query<OutboxRow>(
          `SELECT id, type, body, key, domain, priority, run_at AS "runAt",
             attempts_max AS "attemptsMax", task_id AS "taskId"
           FROM ${s}.outbox WHERE refusal IS NULL ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED`,
          [rowsMax],
        )
        const jobs: NewJob[] = []
        const moved: number[] = []
        const refused: { id: number; refusal: string }[] = []
        for (const row of rows) {
          const answer = read(row)
          if ('refusal' in answer) refused.push({ id: row.id, refusal: answer.refusal })
          else {
            jobs.push(answer)
            moved.push(row.id)
          }
        }
        await insertJobs(statements, s, jobs)
        if (moved.length > 0)
          await statements.query(`DELETE FROM ${s}.outbox WHERE id = ANY ($1)`, [moved])
        if (refused.length > 0)
          await statements.query(
            `UPDATE ${s}.outbox SET refusal = given.refusal
             FROM json_to_recordset($1) AS given (id bigint, refusal text)
             WHERE outbox.id = given.id`,
            [jsonRows(refused)],
          )
        return { moved: moved.length, refused: refused.length }
      })
      if (relayed.moved > 0) hints.announce('jobs')
      return relayed
    },
  }
}
