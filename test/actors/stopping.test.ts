import { describe, expect, it } from 'vitest'
import { DeferredSnapshots } from './fixtures/deferred-snapshots.ts'
import { stage, storedDiary, upTo, wrote } from './fixtures/stage.ts'

describe('stop', () => {
  it('delivers what waits, writes everything, and takes no more', async () => {
    const { host, send, diaries, pages, snapshots } = stage({ limits: { turnEventsMax: 10 } })
    for (const index of upTo(20)) for (const page of upTo(5)) send(`diary-${index}`, wrote(page))
    await host.stop()
    for (const index of upTo(20)) expect(pages(`diary-${index}`)).toEqual(upTo(5))
    expect(snapshots.size).toBe(20)
    expect(send('diary-0', wrote(9))).toBe('stopped')
    expect(send('new', wrote(9))).toBe('stopped')
    expect(diaries.start('new', { input: { owner: 'new' } })).toBe(false)
    expect(host.deadLetters.counts).toEqual({ stopped: 2 })
  })

  it('writes everything, also when it is more than one group', async () => {
    const { host, send, snapshots } = stage({ limits: { snapshotWritesMax: 2 } })
    for (const index of upTo(7)) send(`diary-${index}`, wrote(1))
    await host.stop()
    expect(snapshots.size).toBe(7)
  })

  it('waits for a write under way and for what has changed since', async () => {
    const snapshots = new DeferredSnapshots()
    const { host, diaries, tell, save } = stage({ snapshots })
    diaries.start('ada', { input: { owner: 'Ada' }, isNew: true })
    tell('ada', wrote(1))
    save()
    tell('ada', wrote(2))
    let hasStopped = false
    const stopped = host.stop().then(() => {
      hasStopped = true
    })
    await snapshots.writes[0]!.answer()
    expect(hasStopped).toBe(false)
    await snapshots.writes[1]!.answer()
    await stopped
    expect(snapshots.kept.load(['diary/ada'])[0]?.text).toContain('[1,2]')
  })

  it('waits for loads under way, so that letters for those on their way are delivered', async () => {
    const snapshots = new DeferredSnapshots()
    snapshots.kept.write([storedDiary('ada')])
    const { host, tell } = stage({ snapshots })
    tell('ada', wrote(2))
    const stopped = host.stop()
    await snapshots.loads[0]!.answer()
    await snapshots.writes[0]!.answer()
    await stopped
    expect(snapshots.kept.load(['diary/ada'])[0]?.text).toContain('[1,2]')
    expect(host.deadLetters.list()).toEqual([])
  })

  it('ends after one failure of the store, and tries no more', async () => {
    const snapshots = new DeferredSnapshots()
    const { host, diaries, tell, hear, clock } = stage({ snapshots })
    const unavailable = hear('snapshots.unavailable')
    diaries.start('ada', { input: { owner: 'Ada' }, isNew: true })
    tell('ada', wrote(1))
    const stopped = host.stop()
    await snapshots.writes[0]!.fail()
    await stopped
    expect(unavailable).toHaveLength(1)
    expect(clock.advanceToNext()).toBe(false)
    expect(snapshots.writes).toHaveLength(1)
  })

  it('what waits for an actor that is down is a dead letter', async () => {
    const { host, tell, clock } = stage()
    tell('ada', { type: 'ASSIGN_THROWS' })
    clock.advance(0)
    tell('ada', { type: 'ASSIGN_THROWS' }, wrote(1))
    await host.stop()
    expect(host.deadLetters.list().map(({ event, reason }) => [event.type, reason])).toEqual([
      ['ASSIGN_THROWS', 'crashed'],
      ['ASSIGN_THROWS', 'crashed'],
      ['WROTE', 'stopped'],
    ])
  })

  it('afterwards nothing rings and nobody is woken', async () => {
    const { host, tell, clock, context } = stage()
    tell('ada', { type: 'PROMISED', dueAt: clock.now() + 100 })
    await host.stop()
    clock.advance(1_000)
    expect(context('ada')?.rings).toBe(0)
    expect(clock.advanceToNext()).toBe(false)
  })

  it('stopping twice is stopping once', async () => {
    const { host, tell, snapshots } = stage()
    tell('ada', wrote(1))
    await host.stop()
    await host.stop()
    expect(snapshots.size).toBe(1)
  })
})

describe('halt', () => {
  it('writes nothing, rings nothing and takes no more', () => {
    const { host, tell, send, clock, snapshots, context } = stage()
    tell('ada', wrote(1), { type: 'PROMISED', dueAt: clock.now() + 10 })
    send('ada', wrote(2))
    host.halt()
    clock.advance(1_000)
    expect(snapshots.size).toBe(0)
    expect(context('ada')).toMatchObject({ pages: [1], rings: 0 })
    expect(send('ada', wrote(3))).toBe('stopped')
  })

  it('from within a performer is at once too', () => {
    const set = stage({ kind: { perform: () => set.host.halt() } })
    set.tell('ada', wrote(1))
    set.save()
    set.tell('ada', { type: 'OVERTAKEN' }, wrote(2))
    expect(set.clock.advanceToNext()).toBe(false)
    const other = stage({ kind: { perform: () => other.host.halt() } })
    other.tell('ada', { type: 'ASKED' }, wrote(1))
    expect(other.pages('ada')).toEqual([])
  })

  it('keeps a turn that was planned from calling anybody into being', () => {
    const snapshots = new DeferredSnapshots()
    const { host, diaries, clock } = stage({ snapshots })
    diaries.start('ada', { input: { owner: 'ada' } })
    host.halt()
    clock.settle()
    expect(snapshots.loads).toEqual([])
  })

  it('keeps an answer that comes later from performing or writing anything', async () => {
    const snapshots = new DeferredSnapshots()
    snapshots.kept.write([storedDiary('ada', { envelope: { value: 'asking' } })])
    const { host, diaries, clock, tell, save, performed } = stage({ snapshots })
    diaries.start('bob', { input: { owner: 'bob' }, isNew: true })
    tell('bob', wrote(1))
    save()
    tell('ada', wrote(1))
    host.halt()
    await snapshots.loads[0]!.answer()
    await snapshots.writes[0]!.fail()
    clock.advance(1_000)
    expect(performed).toEqual([])
    expect(snapshots.writes).toHaveLength(1)
  })

  it('keeps one that was overtaken meanwhile from acting on it', async () => {
    const snapshots = new DeferredSnapshots()
    const { host, diaries, tell, save, performed } = stage({
      snapshots,
      kind: { onFenced: { type: 'OVERTAKEN' } },
    })
    diaries.start('ada', { input: { owner: 'ada' }, fence: 1, isNew: true })
    tell('ada', wrote(1))
    save()
    snapshots.kept.write([storedDiary('ada', { fence: 2 })])
    host.halt()
    await snapshots.writes[0]!.answer()
    expect(performed).toEqual([])
  })
})
