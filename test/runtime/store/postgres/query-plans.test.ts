import { describe, expect, it } from 'vitest'
import { usePostgres } from '../../../provision/use-server.ts'
import { done, enlist, newJob, type Session, take, useStage } from './isolation/sessions.ts'

const server = usePostgres({ settings: { autovacuum: 'off' } })
const JOBS = 200
// A handful for each job is fair; looking for each among all the others would be JOBS.
const READ_PER_JOB_MAX = 12

/** A long history, and statistics from the time when nothing was queued or running. */
async function misinformed() {
  const stage = await useStage(server)
  const [a, s] = [await stage.session('a'), stage.schema]
  await a.sql(`INSERT INTO ${s}.jobs (id, type, version, body, domain, lane, priority, state, run_at,
      attempts_max, trace_id, span_id, created_at, finished_at)
    SELECT gen_random_uuid(), 'fetch', '1', '{}', 'old.example', 'fetch old.example', 1, 'done', 1,
      1, '', '', 1, 1 FROM generate_series(1, 20000)`)
  await a.sql(`INSERT INTO ${s}.tasks (id, group_id, type, body, domain, priority, state, updated_at)
    SELECT 'old-' || number, 'old', 'fetch', '{}', '', 1, 'COMPLETED', 1
    FROM generate_series(1, 5000) AS number`)
  await a.sql(`VACUUM ANALYZE ${s}.jobs`)
  await a.sql(`VACUUM ANALYZE ${s}.tasks`)
  const epoch = await enlist(a)
  return { stage, a, epoch, read: (work: () => Promise<unknown>) => rowsRead(a, s, work) }
}

describe('though the planner knows nothing of the queue', () => {
  it('a claim reads a few rows for each job, and none of those behind them', async () => {
    const { stage, a, epoch, read } = await misinformed()
    await stage.submit(5_000)
    const rows = await read(() => take(a, epoch, JOBS))
    expect(rows).toBeGreaterThanOrEqual(JOBS)
    expect(rows).toBeLessThan(JOBS * READ_PER_JOB_MAX)
  })

  it.each(['done', 'failed'] as const)('a settlement (%s) does too', async (kind) => {
    const { stage, a, epoch, read } = await misinformed()
    await stage.submit(JOBS)
    const jobs = await take(a, epoch, JOBS)
    const error = { code: 'c', message: 'm' }
    const settlements = jobs.map((job) => (kind === 'done' ? done(job) : { ...job, kind, error }))
    expect(await read(() => a.settle('node-1', settlements))).toBeLessThan(JOBS * READ_PER_JOB_MAX)
    expect((await stage.store.counts()).ended[kind]).toBe(JOBS)
  })

  it('a settlement of jobs with tasks does too', async () => {
    const { stage, a, epoch, read } = await misinformed()
    const task = { groupId: 'g', type: 'fetch', body: '{}', domain: 'example.org', priority: 1 }
    await stage.store.tasks.put(
      Array.from({ length: 3 * JOBS }, (_, number) => ({ id: `new-${number}`, ...task })),
    )
    await stage.store.tasks.queue('g', 3 * JOBS)
    await stage.store.relay(3 * JOBS, ({ taskId }) => newJob({ taskId }))
    const jobs = await take(a, epoch, JOBS)
    const rows = await read(() => a.settle('node-1', jobs.map(done)))
    expect(rows).toBeLessThan(JOBS * READ_PER_JOB_MAX)
    expect((await stage.store.tasks.counts('g')).COMPLETED).toBe(JOBS)
  })

  it('a note does too', async () => {
    const { stage, a, epoch, read } = await misinformed()
    await stage.submit(JOBS)
    const notes = (await take(a, epoch, JOBS)).map((job) => ({ ...job, progress: '1' }))
    expect(await read(() => a.note(notes))).toBeLessThan(JOBS * READ_PER_JOB_MAX)
  })
})

/** Rows of jobs and tasks that PostgreSQL looked at meanwhile. */
async function rowsRead(session: Session, schema: string, work: () => Promise<unknown>) {
  await session.begin()
  await work()
  const [counted] = await session.sql(
    `SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::integer AS rows
     FROM pg_stat_xact_user_tables WHERE schemaname = $1 AND relname IN ('jobs', 'tasks')`,
    [schema],
  )
  await session.commit()
  return Number(counted?.rows)
}
