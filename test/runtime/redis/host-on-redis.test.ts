import { describe, expect, it, onTestFinished } from 'vitest'
import type { ActorKind } from '../../../src/actors/actor-kind.ts'
import { ActorHost } from '../../../src/actors/host.ts'
import type { HostEventMap, HostEventName } from '../../../src/actors/host-events.ts'
import { statechartOf } from '../../../src/actors/statechart.ts'
import { type HandlerJobCommand, handlerJobMachine } from '../../../src/machines/handler-job.ts'
import type { JobCommand, JobMessage } from '../../../src/machines/job.ts'
import { jobProofPolicy } from '../../../src/proof/job-spec.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { redisSnapshots } from '../../../src/runtime/redis/redis-snapshots.ts'
import {
  type DiaryCommand,
  type DiaryMessage,
  diaryChart,
} from '../../actors/fixtures/diary-machine.ts'
import { wrote } from '../../actors/fixtures/stage.ts'
import { resp } from '../../provision/probe.ts'
import { useRedis } from '../../provision/use-server.ts'
import { connectedRedis, untilAway, untilConnected } from './connected-redis.ts'
import { FaultyCable } from './faulty-cable.ts'

const redis = useRedis()
const laidAway: DiaryMessage = { type: 'LAID_AWAY' }

const diaryKind: ActorKind<DiaryMessage, DiaryCommand> = {
  name: 'diary',
  chart: () => diaryChart,
  input: (key) => ({ owner: key }),
  perform: () => {},
  isDurable: true,
}

/** A host with its own connection, on real time; its tests wait for what it tells. */
async function startHost(url = redis.url) {
  const connection = await connectedRedis(url, { reconnectDelayMsMax: 50 })
  const snapshots = redisSnapshots(connection)
  const host = new ActorHost({ clock: systemClock, chance: () => 0, snapshots })
  onTestFinished(async () => {
    host.halt()
    await connection.close()
  })
  const next = async <N extends HostEventName>(
    name: N,
    isAwaited: (event: HostEventMap[N]) => boolean = () => true,
  ): Promise<HostEventMap[N]> =>
    await new Promise((resolve) => {
      const forget = host.on(name, (event) => {
        if (!isAwaited(event)) return
        forget()
        resolve(event)
      })
    })
  const pages = async (key: string): Promise<unknown> => {
    const [stored] = await snapshots.load([`diary/${key}`])
    return stored && JSON.parse(stored.text).context.pages
  }
  return { host, connection, next, pages }
}

describe('actors that sleep in Redis', () => {
  it('go on from where they stood', async () => {
    const { host, next, pages } = await startHost()
    const diaries = host.register(diaryKind)
    for (const page of [1, 2]) {
      const asleep = next('actor.evicted')
      diaries.send('kept', wrote(page))
      diaries.send('kept', laidAway)
      await asleep
    }
    expect(await pages('kept')).toEqual([1, 2])
  })

  it('begin again from their input when Redis has been flushed', async () => {
    const { host, next, pages } = await startHost()
    const diaries = host.register(diaryKind)
    const fallAsleep = async (page: number) => {
      const asleep = next('actor.evicted')
      diaries.send('flushed', wrote(page))
      diaries.send('flushed', laidAway)
      await asleep
    }
    await fallAsleep(1)
    await resp(redis.port, 'FLUSHALL')
    const activated = next('actor.activated')
    await fallAsleep(2)
    expect(await activated).toMatchObject({ key: 'flushed', from: 'input' })
    expect(await pages('flushed')).toEqual([2])
  })
})

describe('a host whose Redis is away', () => {
  it('says so, goes on without it, and saves everything when it is back', async () => {
    const { host, connection, next, pages } = await startHost()
    const diaries = host.register(diaryKind)
    await Promise.all([untilAway(connection), redis.kill()])

    const activated = next('actor.activated')
    const unavailable = (during: 'load' | 'write') =>
      next('snapshots.unavailable', (event) => event.during === during)
    const [load, write] = [unavailable('load'), unavailable('write')]
    diaries.send('away', wrote(1))
    diaries.send('away', laidAway)
    expect(await load).toMatchObject({ actors: 1, error: { name: 'RedisTrouble' } })
    expect(await activated).toMatchObject({ key: 'away', from: 'input' })
    expect(await write).toMatchObject({ actors: 1, error: { name: 'RedisTrouble' } })

    const asleep = next('actor.evicted')
    await redis.restart()
    await untilConnected(connection)
    expect(await asleep).toMatchObject({ key: 'away' })
    expect(await pages('away')).toEqual([1])
  })

  it('does not take its own write, whose answer was lost, for that of a successor', async () => {
    const cable = await FaultyCable.to(redis.port)
    const { host, next, pages } = await startHost(cable.url)
    const diaries = host.register(diaryKind)
    const fenced: unknown[] = []
    host.on('actor.fenced', (event) => fenced.push(event))
    diaries.start('torn', { input: { owner: 'torn' }, isNew: true })
    cable.cutNextAnswer()
    const [failed, asleep] = [next('snapshots.unavailable'), next('actor.evicted')]
    diaries.send('torn', wrote(1))
    diaries.send('torn', laidAway)
    expect(await failed).toMatchObject({ during: 'write' })
    await asleep
    expect(fenced).toEqual([])
    expect(await pages('torn')).toEqual([1])
  })
})

describe('a job that another node has taken over', () => {
  const jobId = 'b6f1'

  async function startNode() {
    const node = await startHost()
    const performed: string[] = []
    const jobs = node.host.register<JobMessage, JobCommand | HandlerJobCommand>({
      name: 'job',
      chart: () => statechartOf(handlerJobMachine(jobProofPolicy)),
      perform: ({ type }) => void performed.push(type),
      isDurable: true,
      onFenced: { type: 'LEASE_LOST' },
    })
    const claim = (fence: number) =>
      jobs.start(jobId, { input: { jobId, attempt: fence, attemptsMax: 2, fence }, fence })
    const checkpoint = (place: number) =>
      jobs.send(jobId, { type: 'CHECKPOINTED', checkpoint: place })
    return { ...node, jobs, performed, claim, checkpoint }
  }

  it('is fenced out, stops its work and leaves the snapshot to the other', async () => {
    const [first, second] = [await startNode(), await startNode()]
    const store = redisSnapshots(first.connection)
    // Whichever of its saves comes after the successor's is the one that is refused.
    const [fenced, finished] = [first.next('actor.fenced'), first.next('actor.finished')]
    const [begun, takenOver] = [first.next('actor.activated'), second.next('actor.activated')]
    first.claim(1)
    await begun
    second.claim(2)
    second.checkpoint(20)
    await takenOver
    await second.host.stop()
    first.checkpoint(10)
    expect(await fenced).toMatchObject({ kind: 'job', key: jobId })
    expect(await finished).toMatchObject({ state: 'lost' })
    expect(first.performed).toEqual(['run', 'abort'])
    await first.host.stop()
    const [stored] = await store.load([`job/${jobId}`])
    expect(stored?.fence).toBe(2)
    expect(JSON.parse(stored?.text ?? '').context.checkpoint).toBe(20)
  })
})
