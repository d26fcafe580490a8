import { type TaskRecord, type TaskState, type TaskStore, taskStates } from '../job-store.ts'
import type { Database } from './database.ts'
import { storedError } from './job-row.ts'
import { jsonRows } from './json-rows.ts'

/** Several tasks are always locked in the order of their ids: so do the settlements of their jobs. */
const waitingOf = (s: string, columns: string, condition: string) => `
SELECT ${columns} FROM ${s}.tasks WHERE ${condition} ORDER BY id`

/** From `picked`, into the outbox: the relay makes a job of it in a transaction of its own. */
const handedOn = (s: string) => `
handed_on AS (
  INSERT INTO ${s}.outbox (type, body, domain, priority, task_id)
  SELECT type, body, domain, priority, id FROM picked ORDER BY id
)`

export function postgresTasks(database: Database): TaskStore {
  const s = database.schema

  async function counted(text: string, values: readonly unknown[]): Promise<number> {
    const [row] = await database.query<{ count: number }>(text, values)
    return row?.count ?? 0
  }

  return {
    async put(tasks) {
      if (tasks.length === 0) return
      await database.query(
        `INSERT INTO ${s}.tasks (id, group_id, type, body, domain, priority, state, updated_at)
         SELECT given.id, given."groupId", given.type, given.body, given.domain, given.priority,
           'PENDING', (SELECT ${s}.now_ms())
         FROM json_to_recordset($1) AS given (id text, "groupId" text, type text, body text,
           domain text, priority integer)
         ORDER BY given.id COLLATE "C"
         ON CONFLICT DO NOTHING`,
        [jsonRows(tasks)],
      )
    },

    async get(id) {
      const [row] = await database.query<
        Omit<TaskRecord, 'error'> & { error_code: string | null; error_message: string | null }
      >(
        `SELECT id, group_id AS "groupId", type, body, domain, priority, state,
           updated_at AS "updatedAt", result, error_code, error_message
         FROM ${s}.tasks WHERE id = $1`,
        [id],
      )
      if (!row) return undefined
      const { error_code, error_message, ...task } = row
      return { ...task, error: storedError({ error_code, error_message }) }
    },

    async counts(groupId) {
      const rows = await database.query<{ state: TaskState; count: number }>(
        `SELECT state, count(*) AS count FROM ${s}.tasks WHERE group_id = $1 GROUP BY state`,
        [groupId],
      )
      const none = taskStates.map((state) => [state, 0] as const)
      return Object.fromEntries([
        ...none,
        ...rows.map(({ state, count }) => [state, count] as const),
      ]) as Record<TaskState, number>
    },

    queue: (groupId, tasksMax) =>
      counted(
        `WITH picked AS MATERIALIZED (
           ${waitingOf(s, 'id, type, body, domain, priority', `group_id = $1 AND state = 'PENDING'`)}
           LIMIT $2 FOR UPDATE SKIP LOCKED
         ), queued AS (
           UPDATE ${s}.tasks SET state = 'QUEUED', updated_at = (SELECT ${s}.now_ms())
           FROM picked WHERE tasks.id = picked.id
         ), ${handedOn(s)}
         SELECT count(*) AS count FROM picked`,
        [groupId, tasksMax],
      ),

    cancel: (groupId) =>
      counted(
        `WITH picked AS MATERIALIZED (
           ${waitingOf(s, 'id', `group_id = $1 AND state IN ('PENDING', 'QUEUED')`)} FOR UPDATE
         ), cancelled AS (
           UPDATE ${s}.tasks SET state = 'CANCELLED', updated_at = (SELECT ${s}.now_ms())
           FROM picked WHERE tasks.id = picked.id
         )
         SELECT count(*) AS count FROM picked`,
        [groupId],
      ),

    delete: (groupId) =>
      counted(
        `WITH picked AS MATERIALIZED (
           ${waitingOf(s, 'id', 'group_id = $1')} FOR UPDATE
         ), deleted AS (
           DELETE FROM ${s}.tasks USING picked WHERE tasks.id = picked.id
         )
         SELECT count(*) AS count FROM picked`,
        [groupId],
      ),

    /** A task handed on counts as touched, so that it is not handed on again at once. */
    requeueStray: (olderThanMs, tasksMax) =>
      counted(
        `WITH picked AS MATERIALIZED (
           SELECT id, type, body, domain, priority FROM ${s}.tasks
           WHERE state = 'QUEUED' AND updated_at < (SELECT ${s}.now_ms()) - $1
             AND NOT EXISTS (SELECT FROM ${s}.jobs WHERE jobs.task_id = tasks.id
               AND jobs.state IN ('queued', 'scheduled', 'running'))
             AND NOT EXISTS (SELECT FROM ${s}.outbox WHERE outbox.task_id = tasks.id
               AND outbox.refusal IS NULL)
           ORDER BY updated_at LIMIT $2 FOR UPDATE SKIP LOCKED
         ), touched AS (
           UPDATE ${s}.tasks SET updated_at = (SELECT ${s}.now_ms())
           FROM picked WHERE tasks.id = picked.id
         ), ${handedOn(s)}
         SELECT count(*) AS count FROM picked`,
        [Math.ceil(olderThanMs), tasksMax],
      ),
  }
}
