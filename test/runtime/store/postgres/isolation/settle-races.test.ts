import { describe, expect, it } from 'vitest'
import { storeLimits } from '../../../../../src/runtime/store/job-store.ts'
import { usePostgres } from '../../../../provision/use-server.ts'
import { done, enlist, newJob, type Session, take, useStage } from './sessions.ts'

const server = usePostgres()

/** Jobs that run on node-1, and two connections. */
async function running(count: number, wishes = {}) {
  const stage = await useStage(server)
  await stage.submit(count, wishes)
  const [a, b] = [await stage.session('a'), await stage.session('b')]
  const epoch = await enlist(a)
  return { stage, a, b, epoch, jobs: await take(a, epoch, count) }
}

describe('a settlement and a rescue', () => {
  it('the settlement first: the rescue waits, and finds nothing', async () => {
    const { stage, a, b, jobs } = await running(1)
    await stage.advance(storeLimits.leaseMs)

    await a.begin()
    expect(await a.settle('node-1', jobs.map(done))).toEqual(['settled'])
    const rescue = b.rescue(10)
    expect(await b.fateOf(rescue)).toBe('waits')
    await a.commit()

    expect(await rescue).toEqual({ requeued: 0, dead: [], cancelled: 0 })
    expect(await stage.store.get(jobs[0]!.id)).toMatchObject({ state: 'done', crashes: 0 })
  })

  it('the rescue first: the settlement waits, and is lost', async () => {
    const { stage, a, b, jobs } = await running(1)
    await stage.advance(storeLimits.leaseMs)

    await b.begin()
    expect((await b.rescue(10)).requeued).toBe(1)
    const settled = a.settle('node-1', jobs.map(done))
    expect(await a.fateOf(settled)).toBe('waits')
    await b.commit()

    expect(await settled).toEqual(['lost'])
    expect(await stage.store.get(jobs[0]!.id)).toMatchObject({ state: 'queued', result: null })
    expect((await stage.store.counts()).ended.done).toBe(0)
  })
})

describe('the same settlement twice at once', () => {
  it('is written once and answered twice', async () => {
    const { stage, a, b, jobs } = await running(3)

    await a.begin()
    const first = await a.settle('node-1', jobs.map(done))
    const second = b.settle('node-1', jobs.map(done))
    expect(await b.fateOf(second)).toBe('waits')
    await a.commit()

    expect([first, await second].flat()).toEqual(Array(6).fill('settled'))
    expect((await stage.store.counts()).ended.done).toBe(3)
  })

  it('in opposite orders does not tie a knot', async () => {
    const { stage, jobs } = await running(40)
    const { store } = stage
    const settlements = jobs.map(done)
    const verdicts = await Promise.all(
      Array.from({ length: 8 }, (_, turn) =>
        store.settle('node-1', turn % 2 ? settlements : settlements.toReversed()),
      ),
    )
    expect(new Set(verdicts.flat())).toEqual(new Set(['settled']))
    expect((await store.counts()).ended.done).toBe(40)
  })
})

describe('two settlements of different jobs of one node', () => {
  it('do not wait for each other', async () => {
    const { stage, a, jobs } = await running(2)
    // What ended is counted in slots by connection; two of sixteen may have the same, and wait.
    const slotOf = async (session: Session) =>
      (await session.sql('SELECT pg_backend_pid() % 16 AS slot'))[0]?.slot
    let b = await stage.session('b')
    while ((await slotOf(a)) === (await slotOf(b))) b = await stage.session('b')

    await a.begin()
    await a.settle('node-1', [done(jobs[0]!)])
    const other = b.settle('node-1', [done(jobs[1]!)])
    expect(await b.fateOf(other)).toBe('answered')
    await a.commit()
    expect(await other).toEqual(['settled'])
  })
})

describe('a settlement and a note', () => {
  it('the note first: the settlement waits, and both are kept', async () => {
    const { stage, a, b, jobs } = await running(1)
    const [job] = jobs
    await b.begin()
    expect(await b.note([{ ...job!, progress: '"half"' }])).toEqual(['noted'])
    const settled = a.settle('node-1', jobs.map(done))
    expect(await a.fateOf(settled)).toBe('waits')
    await b.commit()
    expect(await settled).toEqual(['settled'])
    expect(await stage.store.get(job!.id)).toMatchObject({ state: 'done', progress: '"half"' })
  })
})

describe('a settlement and a cancel', () => {
  it('the settlement first: the cancel finds the job final', async () => {
    const { a, b, jobs } = await running(1)
    await a.begin()
    await a.settle('node-1', jobs.map(done))
    const cancel = b.cancel(jobs[0]!.id)
    expect(await b.fateOf(cancel)).toBe('waits')
    await a.commit()
    expect(await cancel).toBe('final')
  })

  it('the cancel first: what was to be tried again is cancelled', async () => {
    const { stage, a, b, jobs } = await running(1)
    const [job] = jobs
    await b.begin()
    expect(await b.cancel(job!.id)).toBe('requested')
    const error = { code: 'http.503', message: 'later' }
    const settled = a.settle('node-1', [{ ...job!, kind: 'requeue', delayMs: 5, error }])
    expect(await a.fateOf(settled)).toBe('waits')
    await b.commit()
    expect(await settled).toEqual(['settled'])
    expect(await stage.store.get(job!.id)).toMatchObject({ state: 'cancelled' })
  })
})

describe('a settlement and the end of its task', () => {
  it('the task first: the result is not written', async () => {
    const { stage, a, b, jobs } = await tasked()
    await b.begin()
    expect(await b.tasks.cancel('project')).toBe(1)
    const settled = a.settle('node-1', jobs.map(done))
    expect(await a.fateOf(settled)).toBe('waits')
    await b.commit()
    expect(await settled).toEqual(['overtaken'])
    expect(await stage.store.tasks.get('task')).toMatchObject({ state: 'CANCELLED', result: null })
  })

  it('the settlement first: the task is completed, and nothing is left to cancel', async () => {
    const { stage, a, b, jobs } = await tasked()
    await a.begin()
    expect(await a.settle('node-1', jobs.map(done))).toEqual(['settled'])
    const cancel = b.tasks.cancel('project')
    expect(await b.fateOf(cancel)).toBe('waits')
    await a.commit()
    expect(await cancel).toBe(0)
    expect(await stage.store.tasks.get('task')).toMatchObject({ state: 'COMPLETED' })
  })

  async function tasked() {
    const stage = await useStage(server)
    const task = { type: 'fetch', body: '{}', domain: 'example.org', priority: 1 }
    await stage.store.tasks.put([{ id: 'task', groupId: 'project', ...task }])
    await stage.store.tasks.queue('project', 1)
    await stage.store.relay(10, ({ taskId }) => newJob({ taskId }))
    const [a, b] = [await stage.session('a'), await stage.session('b')]
    return { stage, a, b, jobs: await take(a, await enlist(a)) }
  }
})
