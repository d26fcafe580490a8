/** Tasks, and their way into the outbox. How their jobs end them is in ending.ts. */
import { type NewTask, type TaskRecord, type TaskState, taskStates } from '../job-store.ts'
import { errorOf } from './past-attempts.ts'
import { nowMs, type StoreContext } from './store-context.ts'

export function putTasksStatement({
  database,
  clock,
}: StoreContext): (tasks: readonly NewTask[]) => void {
  const insert = database.prepare(`
    INSERT INTO tasks (id, group_id, state, priority, updated_at, type, domain, body)
    VALUES (?, ?, 'PENDING', ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`)
  return (tasks) => {
    const now = nowMs(clock)
    for (const { id, groupId, priority, type, domain, body } of tasks)
      insert.run(id, groupId, priority, now, type, domain, body)
  }
}

export function getTaskStatement({
  database,
}: StoreContext): (id: string) => TaskRecord | undefined {
  const select = database.prepare(`
    SELECT id, group_id AS groupId, state, priority, updated_at AS updatedAt, type, domain, body,
      result, error_code AS code, error_message AS message
    FROM tasks WHERE id = ?`)
  return (id) => {
    const row = select.get(id)
    if (!row) return undefined
    const { code, message, ...task } = row as unknown as Omit<TaskRecord, 'error'> & {
      readonly code: string | null
      readonly message: string | null
    }
    return { ...task, error: errorOf(code, message) }
  }
}

export function countTasksStatement({
  database,
}: StoreContext): (groupId: string) => Record<TaskState, number> {
  const select = database.prepare(
    'SELECT state, count(*) AS count FROM tasks WHERE group_id = ? GROUP BY state',
  )
  return (groupId) => {
    const counted = new Map(select.all(groupId).map(({ state, count }) => [state, Number(count)]))
    return Object.fromEntries(
      taskStates.map((state) => [state, counted.get(state) ?? 0]),
    ) as Record<TaskState, number>
  }
}

/** Each becomes QUEUED together with its row in the outbox: neither without the other. */
export function queueTasksStatement(
  context: StoreContext,
): (groupId: string, tasksMax: number) => number {
  const pending = context.database.prepare(
    `SELECT id FROM tasks WHERE group_id = ? AND state = 'PENDING' LIMIT ?`,
  )
  const send = sendStatement(context)
  return (groupId, tasksMax) => send(pending.all(groupId, tasksMax).map(({ id }) => String(id)))
}

/**
 * Tasks that wait for a job nobody has: their row in the outbox was lost or refused, or their job
 * ended without them. Longest waiting first.
 */
export function requeueStrayStatement(
  context: StoreContext,
): (olderThanMs: number, tasksMax: number) => number {
  const stray = context.database.prepare(`
    SELECT id FROM tasks
    WHERE state = 'QUEUED' AND updated_at < ?
      AND NOT EXISTS (SELECT 1 FROM jobs
        WHERE task_id = tasks.id AND state IN ('queued', 'scheduled', 'running'))
      AND NOT EXISTS (SELECT 1 FROM outbox WHERE task_id = tasks.id AND refusal IS NULL)
    ORDER BY updated_at LIMIT ?`)
  const send = sendStatement(context)
  return (olderThanMs, tasksMax) => {
    const before = nowMs(context.clock) - olderThanMs
    return send(stray.all(before, tasksMax).map(({ id }) => String(id)))
  }
}

function sendStatement({ database, clock }: StoreContext): (ids: readonly string[]) => number {
  const queue = database.prepare(`UPDATE tasks SET state = 'QUEUED', updated_at = ? WHERE id = ?`)
  const send = database.prepare(`
    INSERT INTO outbox (type, body, domain, priority, task_id, created_at)
    SELECT type, body, domain, priority, id, updated_at FROM tasks WHERE id = ?`)
  return (ids) => {
    const now = nowMs(clock)
    for (const id of ids) {
      queue.run(now, id)
      send.run(id)
    }
    return ids.length
  }
}

/** Jobs on their way find out by themselves: the task they would end no longer waits for them. */
export function cancelTasksStatement({
  database,
  clock,
}: StoreContext): (groupId: string) => number {
  const cancel = database.prepare(`
    UPDATE tasks SET state = 'CANCELLED', updated_at = ?
    WHERE group_id = ? AND state IN ('PENDING', 'QUEUED')`)
  return (groupId) => Number(cancel.run(nowMs(clock), groupId).changes)
}

export function deleteTasksStatement({ database }: StoreContext): (groupId: string) => number {
  const remove = database.prepare('DELETE FROM tasks WHERE group_id = ?')
  return (groupId) => Number(remove.run(groupId).changes)
}
