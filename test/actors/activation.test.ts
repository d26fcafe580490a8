import { describe, expect, it } from 'vitest'
import { DeferredSnapshots } from './fixtures/deferred-snapshots.ts'
import { stage, storedDiary, upTo, wrote } from './fixtures/stage.ts'

describe('activation', () => {
  it('many letters during a pending load lead to one load, one incarnation and delivery in order', async () => {
    const snapshots = new DeferredSnapshots()
    snapshots.kept.write([storedDiary('ada', { context: { pages: [-1] } })])
    const { clock, diaries, send, pages, hear } = stage({ snapshots })
    const activated = hear('actor.activated')
    for (const page of upTo(50)) {
      send('ada', wrote(page))
      clock.settle()
    }
    expect(snapshots.loads).toHaveLength(1)
    expect(diaries.peek('ada')).toBeUndefined()
    expect(diaries.population.states).toEqual({ '(loading)': 1 })
    await snapshots.loads[0]!.answer()
    clock.settle()
    expect(pages('ada')).toEqual([-1, ...upTo(50)])
    expect(activated.map(({ key, from }) => ({ key, from }))).toEqual([
      { key: 'ada', from: 'snapshot' },
    ])
    expect(snapshots.loads).toHaveLength(1)
  })

  it('all actors called during one turn are loaded with one question, each getting its own answer', async () => {
    const snapshots = new DeferredSnapshots()
    snapshots.kept.write([storedDiary('b', { context: { pages: [7] } })])
    const { clock, send, pages } = stage({ snapshots })
    for (const key of ['a', 'b', 'c']) send(key, wrote(1))
    clock.settle()
    expect(snapshots.loads.map(({ asked }) => asked)).toEqual([['diary/a', 'diary/b', 'diary/c']])
    await snapshots.loads[0]!.answer()
    clock.settle()
    expect(['a', 'b', 'c'].map(pages)).toEqual([[1], [7, 1], [1]])
  })

  it('letters beyond the mailbox’s limit are refused while the load is pending', async () => {
    const snapshots = new DeferredSnapshots()
    const { clock, send, pages } = stage({ snapshots, limits: { mailboxLettersMax: 2 } })
    expect(upTo(3).map((page) => send('ada', wrote(page)))).toEqual([
      'accepted',
      'accepted',
      'overflow',
    ])
    clock.settle()
    await snapshots.loads[0]!.answer()
    clock.settle()
    expect(pages('ada')).toEqual([0, 1])
  })

  it('a letter to an absent actor of a kind that has to be started is a dead letter', () => {
    const { host, diaries, clock } = stage()
    const letters = host.register<{ type: 'WROTE' }, never>({
      name: 'started',
      chart: () => {
        throw new Error('nobody needs its machine')
      },
      perform: () => {},
      isDurable: true,
    })
    expect(letters.send('ada', { type: 'WROTE' })).toBe('absent')
    clock.settle()
    expect(letters.size).toBe(0)
    expect(diaries.size).toBe(0)
    expect(host.deadLetters.counts).toEqual({ absent: 1 })
  })

  it('starting one that is here already is refused and changes nothing', () => {
    const { diaries, clock, context } = stage()
    expect(diaries.start('ada', { input: { owner: 'Ada' } })).toBe(true)
    expect(diaries.start('ada', { input: { owner: 'Eve' } })).toBe(false)
    clock.settle()
    expect(diaries.start('ada', { input: { owner: 'Eve' } })).toBe(false)
    clock.settle()
    expect(context('ada')?.owner).toBe('Ada')
  })

  it('one that is known to be new is not looked up, and neither is one without snapshots', () => {
    const snapshots = new DeferredSnapshots()
    const durable = stage({ snapshots })
    durable.diaries.start('ada', { input: { owner: 'Ada' }, isNew: true })
    durable.clock.settle()
    expect(durable.state('ada')).toBe('shut')
    const fleeting = stage({ snapshots, kind: { isDurable: false } })
    fleeting.tell('bob', wrote(1))
    expect(fleeting.pages('bob')).toEqual([1])
    fleeting.save()
    expect(snapshots.loads).toEqual([])
    expect(snapshots.writes).toEqual([])
  })

  it('a restored actor hears RESUMED with the new input before any letter', () => {
    const { diaries, snapshots, clock, host, context } = stage()
    snapshots.write([storedDiary('ada')])
    const heard: string[] = []
    host.inspect('diary', 'ada', ({ event }) => void heard.push(event.type))
    diaries.start('ada', { input: { owner: 'Ada the second' } })
    diaries.send('ada', wrote(2))
    clock.settle()
    expect(heard).toEqual(['RESUMED', 'WROTE'])
    expect(context('ada')).toMatchObject({ owner: 'Ada the second', pages: [1, 2] })
  })

  it('many actors restored by one answer are resumed in fair turns, not all at once', () => {
    const { diaries, snapshots, clock } = stage({ limits: { turnEventsMax: 10 } })
    const keys = upTo(200).map((index) => `diary-${index}`)
    snapshots.write(keys.map((key) => storedDiary(key)))
    for (const key of keys) diaries.start(key, { input: { owner: key } })
    const resumed: number[] = []
    const watch = () => {
      resumed.push(diaries.population.transitions)
      if (diaries.population.transitions < keys.length) clock.soon(watch)
    }
    clock.soon(watch)
    clock.settle()
    const leaps = resumed.slice(1).map((count, index) => count - resumed[index]!)
    expect(Math.max(...leaps)).toBeLessThanOrEqual(10)
    expect(diaries.population.states).toEqual({ open: 200 })
  })

  it('what was stored under an older fence than its life began with is not gone on from', () => {
    const { diaries, clock, save, host, snapshots, context } = stage()
    diaries.start('a', { input: { owner: 'a' }, fence: 1 })
    diaries.send('a', { type: 'WROTE', page: 1 })
    clock.settle()
    save()
    host.halt()
    const next = stage({ snapshots })
    next.diaries.start('a', { input: { owner: 'a' }, fence: 3, since: 3 })
    next.clock.settle()
    expect(context('a')?.pages).toEqual([1])
    expect(next.context('a')?.pages).toEqual([])
    next.tell('a', { type: 'WROTE', page: 2 })
    next.save()
    const last = stage({ snapshots })
    last.diaries.start('a', { input: { owner: 'a' }, fence: 4, since: 3 })
    last.clock.settle()
    expect(last.context('a')?.pages).toEqual([2])
  })

  it('two kinds of one name are refused', () => {
    const { host } = stage()
    const again = { name: 'diary', chart: () => undefined as never, perform: () => {} }
    expect(() => host.register({ ...again, isDurable: false })).toThrow('registered twice')
    expect(() => host.release('dairy', 'ada')).toThrow("no actors of kind 'dairy'")
  })
})

describe('one key, one after the other', () => {
  it('who is called right after an actor ended begins anew, not from what is still to be removed', () => {
    const { tell, save, pages, snapshots } = stage()
    tell('ada', wrote(1))
    save()
    tell('ada', { type: 'BURNT' })
    tell('ada', wrote(2))
    expect(pages('ada')).toEqual([2])
    save()
    expect(snapshots.load(['diary/ada'])[0]?.text).toContain('[2]')
  })

  it('the same while the removal is under way, and after it has failed', async () => {
    const snapshots = new DeferredSnapshots()
    snapshots.kept.write([storedDiary('ada')])
    const { clock, tell, save, pages } = stage({ snapshots })
    tell('ada', { type: 'BURNT' })
    await snapshots.loads[0]!.answer()
    clock.settle()
    save()
    expect(snapshots.writes[0]!.asked).toMatchObject([{ kind: 'remove' }])
    tell('ada', wrote(2))
    expect(pages('ada')).toEqual([2])
    await snapshots.writes[0]!.fail()
    save()
    expect(snapshots.writes[1]!.asked).toMatchObject([{ kind: 'remove' }, { kind: 'save' }])
    await snapshots.writes[1]!.answer()
    expect(snapshots.kept.load(['diary/ada'])[0]?.text).toContain('[2]')
  })

  it('an incarnation that ends while its first write is under way is removed as well', async () => {
    const snapshots = new DeferredSnapshots()
    snapshots.kept.write([storedDiary('ada')])
    const { clock, tell, save } = stage({ snapshots })
    tell('ada', { type: 'BURNT' })
    await snapshots.loads[0]!.answer()
    clock.settle()
    save()
    tell('ada', wrote(2))
    await snapshots.writes[0]!.fail()
    save()
    expect(snapshots.writes[1]!.asked).toMatchObject([{ kind: 'remove' }, { kind: 'save' }])
    tell('ada', { type: 'BURNT' })
    await snapshots.writes[1]!.answer()
    save()
    await snapshots.writes[2]!.answer()
    expect(snapshots.kept.size).toBe(0)
  })

  it('no removal takes away what the next incarnation has saved, however many wait before it', () => {
    const { tell, save, pages, snapshots, host, clock } = stage({
      limits: { snapshotWritesMax: 2 },
      kind: { idleMs: 1 },
    })
    const keys = ['a', 'b', 'c', 'd', 'ada']
    for (const key of keys) tell(key, wrote(1))
    clock.advance(1_000)
    expect(snapshots.size).toBe(5)
    for (const key of keys) tell(key, { type: 'BURNT' })
    tell('ada', wrote(2))
    clock.advance(1_000)
    expect(snapshots.size).toBe(1)
    host.evictIdle()
    save()
    tell('ada', wrote(3))
    expect(pages('ada')).toEqual([2, 3])
  })
})
