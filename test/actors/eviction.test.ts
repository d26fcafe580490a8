import { describe, expect, it } from 'vitest'
import { createMachine } from 'xstate'
import { ActorHost } from '../../src/actors/host.ts'
import { MemorySnapshots } from '../../src/actors/memory-snapshots.ts'
import { statechartOf, stateName } from '../../src/actors/statechart.ts'
import { VirtualClock } from '../../src/actors/virtual-clock.ts'
import { handlerJobMachine } from '../../src/machines/handler-job.ts'
import type { JobMessage } from '../../src/machines/job.ts'
import {
  type LimiterCommand,
  type LimiterMessage,
  limiterMachine,
} from '../../src/machines/limiter.ts'
import { rateLimitConfig } from '../../src/machines/rate-limit-config.ts'
import { DeferredSnapshots } from './fixtures/deferred-snapshots.ts'
import { START_AT, stage, storedDiary, upTo, wrote } from './fixtures/stage.ts'

const idleMs = 10_000

describe('the idle', () => {
  it('are put to sleep after their time, and come back with their state', () => {
    const { clock, host, tell, save, diaries, pages, hear } = stage({ kind: { idleMs } })
    const evicted = hear('actor.evicted')
    tell('ada', wrote(1))
    clock.advance(idleMs - 1)
    host.evictIdle()
    expect(diaries.size).toBe(1)
    clock.advance(1)
    host.evictIdle()
    save()
    expect(diaries.size).toBe(0)
    expect(evicted).toMatchObject([{ key: 'ada', reason: 'idle' }])
    tell('ada', wrote(2))
    expect(pages('ada')).toEqual([1, 2])
  })

  it('a letter is activity, a deadline that rings is not', () => {
    const { clock, host, tell, save, diaries } = stage({ kind: { idleMs } })
    tell('rung', { type: 'PROMISED', dueAt: START_AT + idleMs - 1 })
    tell('written to', wrote(1))
    clock.advance(idleMs - 1)
    tell('written to', wrote(2))
    clock.advance(1)
    host.evictIdle()
    save()
    expect(diaries.peek('rung')).toBeUndefined()
    expect(diaries.peek('written to')).toBeDefined()
  })

  it('stay while their machine is not in a state to sleep in, or waits for a deadline', () => {
    const { clock, host, tell, save, diaries } = stage({ kind: { idleMs } })
    tell('open', { type: 'OPENED' })
    tell('promised', { type: 'PROMISED', dueAt: START_AT + 100 * idleMs })
    tell('shut', wrote(1))
    for (let round = 0; round < 5; round++) {
      clock.advance(idleMs)
      host.evictIdle()
      save()
    }
    expect(diaries.population.states).toEqual({ open: 1, shut: 1 })
    expect(diaries.peek('shut')).toBeUndefined()
    tell('open', { type: 'SHUT' })
    clock.advance(100 * idleMs)
    host.evictIdle()
    save()
    expect(diaries.size).toBe(0)
  })

  it('a state that is never saved is no state to sleep in', () => {
    const { clock, host, tell, save, state } = stage({ kind: { idleMs } })
    tell('ada', wrote(1), { type: 'HIDDEN' })
    clock.advance(idleMs)
    host.evictIdle()
    save()
    expect(state('ada')).toBe('hidden')
  })

  it('one whose state cannot be written stays, and is reported', () => {
    const { clock, host, tell, diaries, hear } = stage({ kind: { idleMs: 10 } })
    const crashed = hear('actor.crashed')
    tell('ada', { type: 'NOTED', note: 1n })
    clock.advance(10)
    host.evictIdle()
    expect(crashed).toMatchObject([{ key: 'ada', cause: null }])
    expect(diaries.size).toBe(1)
  })

  it('an idle time of nothing ends the search all the same', () => {
    const snapshots = new DeferredSnapshots()
    const { host, diaries, clock, tell } = stage({ snapshots, kind: { idleMs: 0 } })
    for (const key of ['a', 'b']) diaries.start(key, { input: { owner: key }, isNew: true })
    tell('b', { type: 'OPENED' })
    clock.settle()
    host.evictIdle()
    expect(diaries.size).toBe(2)
  })

  it('actors without snapshots are never put to sleep', () => {
    const { clock, host, tell, diaries } = stage({ kind: { isDurable: false, idleMs } })
    tell('ada', wrote(1))
    clock.advance(10 * idleMs)
    host.evictIdle()
    expect(diaries.size).toBe(1)
  })

  it('ten thousand called and put to sleep leave no actor, no count and no timer behind', () => {
    const { clock, host, send, diaries, save, snapshots } = stage({ kind: { idleMs } })
    for (const index of upTo(10_000)) {
      send(`diary-${index}`, wrote(index))
      if (index % 2 === 0)
        send(`diary-${index}`, { type: 'PROMISED', dueAt: START_AT + (index % 100) })
    }
    clock.advance(idleMs)
    expect(diaries.size).toBe(10_000)
    host.evictIdle()
    save()
    expect(diaries.size).toBe(0)
    expect(diaries.population.states).toEqual({})
    expect(snapshots.size).toBe(10_000)
    expect(clock.advanceToNext()).toBe(false)
  })
})

describe('the cap', () => {
  it('puts the least recently used to sleep first', () => {
    const { clock, tell, save, diaries, hear } = stage({ kind: { actorsMax: 3 } })
    const evicted = hear('actor.evicted')
    for (const key of ['a', 'b', 'c']) {
      clock.advance(1)
      tell(key, wrote(1))
    }
    tell('a', wrote(2))
    tell('d', wrote(1))
    tell('e', wrote(1))
    save()
    expect(evicted.map(({ key, reason }) => ({ key, reason }))).toEqual([
      { key: 'b', reason: 'cap' },
      { key: 'c', reason: 'cap' },
    ])
    expect(diaries.size).toBe(3)
  })

  it('passes over the busy, however many they are, and finds those who may sleep', () => {
    const { clock, tell, save, diaries } = stage({
      limits: { capLooksMax: 4 },
      kind: { actorsMax: 10 },
    })
    for (const index of upTo(10)) tell(`busy-${index}`, { type: 'OPENED' })
    for (const index of upTo(10)) tell(`idle-${index}`, wrote(index))
    for (let turn = 0; turn < 20; turn++) {
      clock.advance(1)
      tell('busy-0', wrote(turn))
    }
    save()
    expect(diaries.population.states).toEqual({ open: 10 })
  })

  it('never takes one with letters waiting', () => {
    const { clock, send, tell, save, pages, hear } = stage({
      kind: { actorsMax: 1 },
      limits: { turnEventsMax: 8, fairShareEventsMax: 4, mailboxLettersMax: 10_000 },
    })
    const evicted = hear('actor.evicted')
    tell('ada', wrote(-1))
    for (const page of upTo(100)) send('ada', wrote(page))
    send('bob', wrote(1))
    clock.settle()
    expect(pages('ada')).toEqual([-1, ...upTo(100)])
    save()
    expect(evicted.map(({ key }) => key)).toHaveLength(1)
  })

  it('never takes one whose deadline has come and is still to be told', () => {
    const { clock, host, tell } = stage({
      kind: { actorsMax: 1 },
      limits: { turnEventsMax: 1, capLooksMax: 100 },
    })
    const rung: string[] = []
    for (const index of upTo(10)) {
      const key = `diary-${index}`
      tell(key, { type: 'PROMISED', dueAt: START_AT + 1_000 })
      host.inspect('diary', key, ({ event }) => event.type === 'DUE' && rung.push(key))
    }
    clock.advanceTo(START_AT + 1_000)
    expect(rung).toHaveLength(10)
  })

  it('never takes one that has not yet heard that it goes on', () => {
    const { clock, host, diaries, snapshots } = stage({
      kind: { actorsMax: 1 },
      limits: { turnEventsMax: 1 },
    })
    const resumed: string[] = []
    for (const key of ['a', 'b', 'c']) {
      snapshots.write([storedDiary(key, { envelope: { value: 'shut' } })])
      host.inspect('diary', key, () => void resumed.push(key))
      diaries.start(key, { input: { owner: key } })
    }
    clock.settle()
    expect(resumed.toSorted()).toEqual(['a', 'b', 'c'])
  })

  it('does not count those on their way out twice', async () => {
    const snapshots = new DeferredSnapshots()
    const { clock, diaries, tell, save } = stage({ snapshots, kind: { actorsMax: 2 } })
    for (const key of ['a', 'b', 'c']) diaries.start(key, { input: { owner: key }, isNew: true })
    clock.settle()
    for (const page of upTo(5)) tell('c', wrote(page))
    save()
    await snapshots.writes[0]!.answer()
    expect(diaries.peek('a')).toBeUndefined()
    expect(diaries.peek('b')).toBeDefined()
  })
})

describe('a letter that races with eviction', () => {
  /** One diary with a page, its eviction begun and the write of its snapshot under way. */
  async function fallingAsleep() {
    const snapshots = new DeferredSnapshots()
    const set = stage({ snapshots, kind: { idleMs } })
    set.diaries.start('ada', { input: { owner: 'Ada' }, isNew: true })
    set.tell('ada', wrote(1))
    set.save()
    await snapshots.writes[0]!.fail()
    set.clock.advance(idleMs)
    await snapshots.writes[1]!.fail()
    const evicted = set.hear('actor.evicted')
    set.host.evictIdle()
    expect(snapshots.writes).toHaveLength(3)
    return { ...set, evicted }
  }

  it('is delivered at once and keeps the actor awake; its state is that before, and is written', async () => {
    const { snapshots, tell, save, pages, evicted, diaries } = await fallingAsleep()
    tell('ada', wrote(2))
    expect(pages('ada')).toEqual([1, 2])
    await snapshots.writes[2]!.answer()
    expect(diaries.size).toBe(1)
    expect(evicted).toEqual([])
    save()
    await snapshots.writes[3]!.answer()
    expect(snapshots.kept.load(['diary/ada'])[0]?.text).toContain('[1,2]')
  })

  it('coming after the snapshot is safe, is delivered to the next incarnation', async () => {
    const { clock, snapshots, tell, pages, evicted, diaries } = await fallingAsleep()
    await snapshots.writes[2]!.answer()
    expect(diaries.size).toBe(0)
    expect(evicted).toMatchObject([{ key: 'ada', reason: 'idle' }])
    tell('ada', wrote(2))
    await snapshots.loads[0]!.answer()
    clock.settle()
    expect(pages('ada')).toEqual([1, 2])
  })

  it('a write that fails keeps the actor, and its state goes with the next write', async () => {
    const { snapshots, save, pages, diaries, clock, tell } = await fallingAsleep()
    await snapshots.writes[2]!.fail()
    expect(pages('ada')).toEqual([1])
    save()
    await snapshots.writes[3]!.answer()
    expect(diaries.size).toBe(0)
    tell('ada', wrote(2))
    await snapshots.loads[0]!.answer()
    clock.settle()
    expect(pages('ada')).toEqual([1, 2])
  })

  it('an actor whose snapshot is only on its way to the store is not forgotten before it is there', async () => {
    const snapshots = new DeferredSnapshots()
    const { clock, host, diaries, tell, save, pages } = stage({ snapshots, kind: { idleMs } })
    diaries.start('ada', { input: { owner: 'Ada' }, isNew: true })
    tell('ada', wrote(1))
    save()
    clock.advance(idleMs)
    host.evictIdle()
    expect(diaries.size).toBe(1)
    await snapshots.writes[0]!.fail()
    tell('ada', wrote(2))
    expect(pages('ada')).toEqual([1, 2])
  })

  it('a write whose answer was lost is repeated and loses nothing', async () => {
    const { snapshots, save, diaries, clock, tell, pages } = await fallingAsleep()
    await snapshots.writes[2]!.answerLost()
    save()
    await snapshots.writes[3]!.answer()
    expect(diaries.size).toBe(0)
    tell('ada', wrote(2))
    await snapshots.loads[0]!.answer()
    clock.settle()
    expect(pages('ada')).toEqual([1, 2])
  })
})

describe('a machine that is asleep', () => {
  it('goes as soon as its snapshot is safe, and goes on when started, with the new input', () => {
    const { tell, save, diaries, state, context, clock, hear, snapshots } = stage()
    const evicted = hear('actor.evicted')
    tell('ada', wrote(1), { type: 'LAID_AWAY' })
    save()
    expect(diaries.size).toBe(0)
    expect(evicted).toMatchObject([{ key: 'ada', reason: 'asked' }])
    expect(snapshots.size).toBe(1)
    diaries.start('ada', { input: { owner: 'Eve' }, fence: 2 })
    clock.settle()
    expect(state('ada')).toBe('open')
    expect(context('ada')).toMatchObject({ owner: 'Eve', pages: [1] })
  })

  it('goes also when an earlier write of it was still under way', async () => {
    const snapshots = new DeferredSnapshots()
    const { diaries, tell, save } = stage({ snapshots })
    diaries.start('ada', { input: { owner: 'Ada' }, isNew: true })
    tell('ada', { type: 'OPENED' })
    save()
    tell('ada', { type: 'LAID_AWAY' })
    await snapshots.writes[0]!.answer()
    expect(diaries.size).toBe(1)
    save()
    await snapshots.writes[1]!.answer()
    expect(diaries.size).toBe(0)
    expect(snapshots.kept.load(['diary/ada'])[0]?.text).toContain('laidAway')
  })

  it('goes also when the first write of it has failed', async () => {
    const snapshots = new DeferredSnapshots()
    const { diaries, tell, save } = stage({ snapshots })
    diaries.start('ada', { input: { owner: 'Ada' }, isNew: true })
    tell('ada', { type: 'LAID_AWAY' })
    save()
    await snapshots.writes[0]!.fail()
    save()
    await snapshots.writes[1]!.answer()
    expect(diaries.size).toBe(0)
  })

  it('letters that wait when it falls asleep are delivered first', () => {
    const { tell, save, diaries, pages, snapshots } = stage()
    tell('ada', { type: 'LAID_AWAY' }, wrote(1), wrote(2))
    expect(pages('ada')).toEqual([1, 2])
    save()
    expect(diaries.size).toBe(0)
    expect(snapshots.load(['diary/ada'])[0]?.text).toContain('[1,2]')
  })

  it('started again before its snapshot is safe, it goes on from its state under the new fence', async () => {
    const snapshots = new DeferredSnapshots()
    const { diaries, clock, tell, save, state, context } = stage({ snapshots })
    diaries.start('ada', { input: { owner: 'Ada' }, fence: 1, isNew: true })
    tell('ada', wrote(1), { type: 'LAID_AWAY' })
    save()
    expect(diaries.start('ada', { input: { owner: 'Eve' }, fence: 2 })).toBe(true)
    clock.settle()
    expect(state('ada')).toBe('open')
    expect(context('ada')).toMatchObject({ owner: 'Eve', pages: [1] })
    await snapshots.writes[0]!.answer()
    save()
    await snapshots.writes[1]!.answer()
    expect(snapshots.kept.load(['diary/ada'])[0]).toMatchObject({ fence: 2 })
    expect(diaries.population.states).toEqual({ open: 1 })
  })

  it('started again before its snapshot is safe, its state is written even if RESUMED changes nothing', async () => {
    const snapshots = new DeferredSnapshots()
    const { host, clock, save } = stage({ snapshots })
    const chart = statechartOf(
      createMachine({
        id: 'dormouse',
        version: '1',
        initial: 'awake',
        states: {
          awake: { on: { TIRED: 'asleep' } },
          asleep: { tags: ['checkpoint', 'evictable', 'asleep'] },
        },
      }),
    )
    const dormice = host.register<{ type: 'TIRED' }, never>({
      name: 'dormouse',
      chart: () => chart,
      perform: () => {},
      isDurable: true,
    })
    dormice.start('d', { input: {}, isNew: true })
    dormice.send('d', { type: 'TIRED' })
    save()
    expect(dormice.start('d', { input: {}, fence: 2 })).toBe(true)
    clock.settle()
    await snapshots.writes[0]!.fail()
    save()
    await snapshots.writes[1]!.answer()
    expect(snapshots.kept.load(['dormouse/d'])[0]).toMatchObject({ fence: 2 })
  })

  it('a released job keeps its snapshot and its next claim goes on from it', () => {
    const clock = new VirtualClock(START_AT)
    const snapshots = new MemorySnapshots()
    const host = new ActorHost({ clock, chance: () => 0, snapshots })
    const performed: object[] = []
    const chart = statechartOf(
      handlerJobMachine({
        backoff: { kind: 'exponential', baseMs: 100, maxMs: 1_000 },
        pauseMsMax: 1_000,
        attemptMsMax: 60_000,
      }),
    )
    const jobs = host.register<JobMessage, { type: string }>({
      name: 'job',
      chart: () => chart,
      perform: (command) => void performed.push(command),
      isDurable: true,
    })
    const lease = { jobId: 'j1', attempt: 1, attemptsMax: 3, fence: 1 }
    jobs.start('j1', { input: lease, fence: 1, isNew: true })
    jobs.send('j1', { type: 'CHECKPOINTED', checkpoint: 'page 7' })
    jobs.send('j1', { type: 'DRAINED' })
    jobs.send('j1', { type: 'SETTLED' })
    clock.advance(50)
    expect(jobs.size).toBe(0)
    expect(snapshots.size).toBe(1)

    performed.length = 0
    jobs.start('j1', { input: { ...lease, attempt: 2, fence: 2 }, fence: 2 })
    clock.settle()
    expect(performed).toEqual([{ type: 'run', jobId: 'j1', attempt: 2, checkpoint: 'page 7' }])
  })
})

describe('limiters', () => {
  const config = rateLimitConfig({ initialRps: 1, tokenBucketCapacity: 1, maxConcurrent: 1 })
  const chart = statechartOf(limiterMachine(config))

  it('never sleep with waiters, permits or a Retry-After, and sleep when all that is over', () => {
    const clock = new VirtualClock(START_AT)
    const host = new ActorHost({ clock, chance: () => 0, snapshots: new MemorySnapshots() })
    const limiters = host.register<LimiterMessage, LimiterCommand>({
      name: 'limiter',
      chart: () => chart,
      input: () => ({ tokens: 1 }),
      perform: () => {},
      isDurable: true,
      idleMs: 1,
    })
    const afterIdling = () => {
      clock.advance(10)
      host.evictIdle()
      clock.advance(50)
      const snapshot = limiters.peek('h')
      return snapshot ? stateName(snapshot.value) : 'asleep'
    }
    limiters.send('h', { type: 'ACQUIRE', id: 'p1', priority: 0 })
    expect(afterIdling()).toBe('flowing')
    limiters.send('h', { type: 'ACQUIRE', id: 'p2', priority: 0 })
    expect(afterIdling()).toBe('pacing')
    limiters.send('h', { type: 'ABANDONED', id: 'p2' })
    limiters.send('h', {
      type: 'FEEDBACK',
      id: 'p1',
      kind: 'throttled',
      latencyMs: 5,
      retryAfterMs: 60_000,
      ends: true,
    })
    expect(afterIdling()).toBe('cooling')
    clock.advance(120_000)
    expect(afterIdling()).toBe('asleep')
  })
})

it('a stored actor that has not changed is put to sleep without another write', () => {
  const snapshots = new DeferredSnapshots()
  const kept = storedDiary('ada', { envelope: { value: 'shut' } })
  snapshots.kept.write([kept])
  const { diaries, clock, host, save } = stage({ snapshots: snapshots.kept, kind: { idleMs } })
  diaries.start('ada', { input: { owner: 'ada' } })
  save()
  clock.advance(idleMs)
  host.evictIdle()
  expect(diaries.size).toBe(0)
})
