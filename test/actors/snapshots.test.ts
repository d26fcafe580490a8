import { describe, expect, it } from 'vitest'
import { DeferredSnapshots } from './fixtures/deferred-snapshots.ts'
import { RecordingSnapshots } from './fixtures/recording-snapshots.ts'
import {
  SNAPSHOT_DELAY_MS,
  START_AT,
  type StageOptions,
  stage,
  storedDiary,
  upTo,
  wrote,
} from './fixtures/stage.ts'

function recordedStage(options: StageOptions<RecordingSnapshots> = {}) {
  return stage({ snapshots: new RecordingSnapshots(), ...options })
}

describe('writing behind', () => {
  it('changes are written in groups, each at most the delay after it was made', () => {
    const { clock, tell, snapshots } = recordedStage()
    tell('ada', wrote(1))
    clock.advance(SNAPSHOT_DELAY_MS - 1)
    tell('bob', wrote(1))
    tell('ada', wrote(2))
    tell('cid', wrote(1))
    expect(snapshots.groups).toEqual([])
    clock.advance(1)
    const groups = () => snapshots.groups.map((group) => group.map(({ id }) => id))
    expect(groups()).toEqual([['diary/ada']])
    clock.advance(SNAPSHOT_DELAY_MS - 1)
    expect(groups()).toEqual([['diary/ada'], ['diary/bob', 'diary/cid']])
    expect(snapshots.text('ada')).toContain('[1,2]')
  })

  it('what has not changed is not written again', () => {
    const { tell, save, snapshots } = recordedStage()
    tell('ada', wrote(1))
    save()
    tell('bob', wrote(1))
    save()
    save()
    expect(snapshots.groups.map((group) => group.map(({ id }) => id))).toEqual([
      ['diary/ada'],
      ['diary/bob'],
    ])
  })

  it('one write is under way at a time; what changes meanwhile goes with the next', async () => {
    const snapshots = new DeferredSnapshots()
    const { diaries, tell, save } = stage({ snapshots })
    diaries.start('ada', { input: { owner: 'Ada' }, isNew: true })
    tell('ada', wrote(1))
    save()
    tell('ada', wrote(2))
    save()
    save()
    expect(snapshots.writes).toHaveLength(1)
    await snapshots.writes[0]!.answer()
    save()
    expect(snapshots.writes).toHaveLength(2)
    await snapshots.writes[1]!.answer()
    expect(snapshots.kept.load(['diary/ada'])[0]?.text).toContain('[1,2]')
  })

  it('groups are no larger than allowed, and nobody is left out', () => {
    const { clock, send, snapshots } = recordedStage({ limits: { snapshotWritesMax: 3 } })
    for (const index of upTo(10)) send(`diary-${index}`, wrote(index))
    clock.advance(10 * SNAPSHOT_DELAY_MS)
    expect(Math.max(...snapshots.groups.map((group) => group.length))).toBe(3)
    expect(snapshots.kept.size).toBe(10)
  })

  it('a backlog is written on at once, without another delay between its groups', () => {
    const { clock, send, snapshots } = recordedStage({ limits: { snapshotWritesMax: 3 } })
    for (const index of upTo(10)) send(`diary-${index}`, wrote(index))
    clock.advance(SNAPSHOT_DELAY_MS)
    expect(snapshots.kept.size).toBe(10)
  })

  it('removals count towards the size of a group', () => {
    const { clock, tell, snapshots } = recordedStage({ limits: { snapshotWritesMax: 3 } })
    for (const index of upTo(4)) tell(`diary-${index}`, wrote(index))
    clock.advance(10 * SNAPSHOT_DELAY_MS)
    for (const index of upTo(4)) tell(`diary-${index}`, { type: 'BURNT' })
    for (const index of upTo(4)) tell(`other-${index}`, wrote(index))
    clock.advance(10 * SNAPSHOT_DELAY_MS)
    expect(Math.max(...snapshots.groups.map((group) => group.length))).toBe(3)
    expect(snapshots.kept.size).toBe(4)
  })

  it('those who ended before their write do not keep the others from theirs', () => {
    const { clock, tell, snapshots } = recordedStage({ limits: { snapshotWritesMax: 3 } })
    for (const index of upTo(5)) tell(`short-${index}`, wrote(1), { type: 'BURNT' })
    tell('ada', wrote(1))
    clock.advance(SNAPSHOT_DELAY_MS)
    expect(snapshots.text('ada')).toContain('[1]')
  })

  it('an actor that ends before its first write never touches the store', () => {
    const { tell, save, snapshots } = recordedStage()
    tell('ada', wrote(1), { type: 'OPENED' })
    tell('ada', { type: 'BURNT' })
    save()
    save()
    expect(snapshots.groups).toEqual([])
  })

  it('an actor that ends later is removed', () => {
    const { tell, save, snapshots } = recordedStage()
    tell('ada', wrote(1))
    save()
    tell('ada', { type: 'BURNT' })
    save()
    expect(snapshots.groups.at(-1)).toEqual([{ kind: 'remove', id: 'diary/ada', fence: 0 }])
    expect(snapshots.kept.size).toBe(0)
  })

  it('an actor that ends while its first write is under way is removed after it', async () => {
    const snapshots = new DeferredSnapshots()
    const { diaries, tell, save } = stage({ snapshots })
    diaries.start('ada', { input: { owner: 'Ada' }, isNew: true })
    tell('ada', wrote(1))
    save()
    tell('ada', { type: 'BURNT' })
    await snapshots.writes[0]!.answer()
    save()
    await snapshots.writes[1]!.answer()
    expect(snapshots.kept.size).toBe(0)
  })

  it('letters still waiting at the end are dead letters', () => {
    const { host, tell } = recordedStage()
    tell('ada', { type: 'BURNT' }, wrote(1))
    expect(host.deadLetters.list()).toMatchObject([{ event: wrote(1), reason: 'ended' }])
  })

  it('each snapshot carries its place in the order of writes and the actor’s deadline', () => {
    const { tell, save, snapshots } = recordedStage()
    tell('ada', { type: 'PROMISED', dueAt: START_AT + 7_000 })
    save()
    tell('ada', wrote(1))
    save()
    const [first, second] = snapshots.groups.flat()
    expect(first).toMatchObject({ id: 'diary/ada', fence: 0, dueAt: START_AT + 7_000 })
    if (first?.kind !== 'save' || second?.kind !== 'save') throw new Error('not saved')
    expect(second.seq).toBeGreaterThan(first.seq)
  })

  it('a crash falls back to the last state with a checkpoint, never to one in between', () => {
    const before = recordedStage()
    before.tell('ada', wrote(1), { type: 'OPENED' })
    before.tell('ada', { type: 'HIDDEN' }, wrote(2))
    before.save()
    before.host.halt()
    const after = recordedStage({ snapshots: before.snapshots })
    after.diaries.start('ada', { input: { owner: 'ada' } })
    after.clock.settle()
    expect(after.state('ada')).toBe('open')
    expect(after.pages('ada')).toEqual([1])
  })
})

describe('a store that fails', () => {
  it('to load: the actor begins afresh, its letters are delivered and somebody is told', () => {
    const { tell, pages, snapshots, hear, diaries } = recordedStage()
    snapshots.kept.write([storedDiary('ada')])
    const unavailable = hear('snapshots.unavailable')
    snapshots.isBroken = true
    for (const key of ['ada', 'bob']) diaries.send(key, wrote(5))
    tell('cy', wrote(5))
    expect(['ada', 'bob', 'cy'].map(pages)).toEqual([[5], [5], [5]])
    expect(unavailable).toMatchObject([{ during: 'load', actors: 3 }])
    expect(String(unavailable[0]?.error)).toContain('the disk is gone')
  })

  it('to load, later: the same', async () => {
    const snapshots = new DeferredSnapshots()
    const { tell, pages, hear, clock } = stage({ snapshots })
    const unavailable = hear('snapshots.unavailable')
    tell('ada', wrote(5))
    await snapshots.loads[0]!.fail()
    clock.settle()
    expect(pages('ada')).toEqual([5])
    expect(unavailable).toMatchObject([{ during: 'load', actors: 1 }])
  })

  it('to load: what the fresh actor writes supersedes the snapshot it could not read', () => {
    const { tell, save, snapshots } = recordedStage()
    tell('ada', wrote(1))
    save()
    tell('ada', wrote(2))
    save()
    const next = recordedStage({ snapshots })
    next.clock.advance(1_000)
    snapshots.isBroken = true
    next.tell('ada', wrote(3))
    snapshots.isBroken = false
    const fenced = next.hear('actor.fenced')
    next.save()
    expect(fenced).toEqual([])
    expect(snapshots.text('ada')).toContain('[3]')
  })

  it('a snapshot from a process whose clock was ahead is superseded all the same', () => {
    const { tell, save, snapshots, hear } = recordedStage()
    snapshots.kept.write([storedDiary('ada', { seq: 2 * START_AT })])
    const fenced = hear('actor.fenced')
    tell('ada', wrote(2))
    save()
    expect(fenced).toEqual([])
    expect(snapshots.text('ada')).toContain('[1,2]')
  })

  it('to write: the write is repeated until it succeeds, with the state of that moment', () => {
    const { tell, save, snapshots, hear, pages } = recordedStage()
    const unavailable = hear('snapshots.unavailable')
    tell('ada', wrote(1))
    snapshots.isBroken = true
    save()
    save()
    tell('ada', wrote(2))
    expect(unavailable).toMatchObject([
      { during: 'write', actors: 1 },
      { during: 'write', actors: 1 },
    ])
    expect(pages('ada')).toEqual([1, 2])
    snapshots.isBroken = false
    save()
    expect(snapshots.text('ada')).toContain('[1,2]')
  })

  it('to remove: the removal is repeated', () => {
    const { tell, save, snapshots } = recordedStage()
    tell('ada', wrote(1))
    save()
    tell('ada', { type: 'BURNT' })
    snapshots.isBroken = true
    save()
    snapshots.isBroken = false
    save()
    expect(snapshots.kept.size).toBe(0)
  })
})

describe('fences', () => {
  /** A diary held under fence 1, whose store has meanwhile seen somebody with fence 2. */
  function overtaken(options: StageOptions<RecordingSnapshots> = {}) {
    const set = recordedStage(options)
    set.diaries.start('ada', { input: { owner: 'Ada' }, fence: 1 })
    set.tell('ada', wrote(1))
    set.save()
    set.snapshots.kept.write([storedDiary('ada', { fence: 2, context: { pages: [99] } })])
    return { ...set, fenced: set.hear('actor.fenced') }
  }

  it('an overtaken actor is refused, reported and gone, and the newer one’s snapshot untouched', () => {
    const { tell, save, snapshots, diaries, fenced } = overtaken()
    tell('ada', wrote(2))
    save()
    expect(fenced).toMatchObject([{ kind: 'diary', key: 'ada' }])
    expect(diaries.size).toBe(0)
    save()
    expect(snapshots.text('ada')).toContain('[99]')
  })

  it('it is told, so that it can call off its work, and its end removes nothing', () => {
    const { tell, save, snapshots, performed, diaries, hear } = overtaken({
      kind: { onFenced: { type: 'OVERTAKEN' } },
    })
    const finished = hear('actor.finished')
    tell('ada', { type: 'OPENED' })
    save()
    expect(performed).toMatchObject([{ key: 'ada', command: { type: 'callOff' } }])
    expect(finished).toMatchObject([{ key: 'ada', state: 'overtaken' }])
    save()
    expect(diaries.size).toBe(0)
    expect(snapshots.text('ada')).toContain('[99]')
  })

  it('one whose machine takes no notice goes all the same, and does not try for ever', () => {
    const { tell, save, clock, snapshots, diaries, fenced } = overtaken({
      kind: { onFenced: { type: 'OVERTAKEN' } },
    })
    tell('ada', { type: 'LAID_AWAY' })
    save()
    const writes = snapshots.groups.length
    clock.advance(1_000)
    expect(diaries.size).toBe(0)
    expect(fenced).toHaveLength(1)
    expect(snapshots.groups).toHaveLength(writes)
  })

  it('one that crashes on hearing of it is gone too', () => {
    const { tell, clock, diaries, fenced } = overtaken({
      kind: { onFenced: { type: 'ASSIGN_THROWS' } },
    })
    tell('ada', wrote(2))
    clock.advance(1_000)
    expect(fenced).toHaveLength(1)
    expect(diaries.size).toBe(0)
    expect(diaries.population.states).toEqual({})
  })

  it('letters for the overtaken are dead letters, and the next call finds the newer state', () => {
    const { clock, send, tell, save, host, pages } = overtaken({ limits: { turnEventsMax: 1 } })
    tell('ada', wrote(2))
    host.on('actor.fenced', () => void send('ada', wrote(3)))
    save()
    expect(host.deadLetters.list()).toMatchObject([{ event: wrote(3), reason: 'ended' }])
    tell('ada', wrote(4))
    clock.settle()
    expect(pages('ada')).toEqual([99, 4])
  })

  it('the end of one overtaken under the same fence removes nothing either', () => {
    const { tell, save, snapshots, hear } = recordedStage({
      kind: { onFenced: { type: 'OVERTAKEN' } },
    })
    const fenced = hear('actor.fenced')
    tell('ada', wrote(1))
    save()
    snapshots.kept.write([storedDiary('ada', { seq: 2 * START_AT, context: { pages: [99] } })])
    tell('ada', wrote(2))
    save()
    save()
    expect(fenced).toHaveLength(1)
    expect(snapshots.text('ada')).toContain('[99]')
  })

  it('a removal by the overtaken is refused', () => {
    const { tell, save, snapshots } = overtaken()
    tell('ada', { type: 'BURNT' })
    save()
    expect(snapshots.text('ada')).toContain('[99]')
  })
})

describe('what cannot be restored', () => {
  it.each([
    ['an unknown version', { envelope: { version: '0' } }, /version 0.*no migration.*version 2/],
    ['damaged JSON', { text: '{"machine":"diary","ver' }, /JSON/],
    ['no object', { text: '[]' }, /not an object/],
    ['no name', { text: '{}' }, /does not name its machine/],
    ['no state', { envelope: { value: 3 } }, /has no state/],
    ['another machine', { envelope: { machine: 'ledger' } }, /'ledger', not 'diary'/],
    ['a lacking context key', { context: { pages: undefined } }, /lacks 'pages'/],
    ['an unknown state', { envelope: { value: 'eaten' } }, /'eaten' does not exist/],
    ['an unknown nested state', { envelope: { value: { open: 'wide' } } }, /'wide' does not exist/],
    ['a deadline that is none', { context: { dueAt: 'soon' } }, /dueAt is soon/],
  ])(
    '%s: reported with the reason, the actor begins afresh, the others go on',
    (_, parts, reason) => {
      const { clock, diaries, snapshots, save, hear } = stage()
      const damaged = storedDiary('ada', parts)
      snapshots.write([damaged, storedDiary('bob')])
      const discarded = hear('snapshot.discarded')
      const activated = hear('actor.activated')
      for (const key of ['ada', 'bob']) diaries.send(key, wrote(2))
      clock.settle()
      expect(diaries.peek('ada')?.context.pages).toEqual([2])
      expect(diaries.peek('bob')?.context.pages).toEqual([1, 2])
      expect(discarded).toMatchObject([{ kind: 'diary', key: 'ada', text: damaged.text }])
      expect(discarded[0]?.reason).toMatch(reason)
      const origins = Object.fromEntries(activated.map(({ key, from }) => [key, from]))
      expect(origins).toEqual({ ada: 'input', bob: 'snapshot' })
      save()
      expect(snapshots.load(['diary/ada'])[0]?.text).toContain('"version":"2"')
    },
  )
})

describe('migrations', () => {
  const migrations = {
    '0': {
      to: '1',
      migrate: ({ value, context }: never) => ({ value, context: renamed(context) }),
    },
    '1': {
      to: '2',
      migrate: ({ context }: { context: object }) => ({
        value: 'shut',
        context: { rings: 0, note: null, dueAt: null, ...context },
      }),
    },
  }

  function renamed({ leaves, ...rest }: { readonly leaves: number[] }) {
    return { ...rest, pages: leaves }
  }

  const oldest = {
    text: JSON.stringify({
      machine: 'diary',
      version: '0',
      value: 'closed',
      context: { owner: 'ada', leaves: [1] },
    }),
  }

  it('lead from any known version to the present one, one after the other', () => {
    const { tell, pages, state, snapshots, hear } = stage({ kind: { migrations } })
    const discarded = hear('snapshot.discarded')
    snapshots.write([storedDiary('ada', oldest)])
    tell('ada', wrote(2))
    expect(discarded).toEqual([])
    expect(pages('ada')).toEqual([1, 2])
    expect(state('ada')).toBe('shut')
  })

  it('that go round in a circle or throw are reported, and the actor begins afresh', () => {
    const circle = { '0': { to: '1', migrate: (state: never) => state } }
    const broken = {
      '0': {
        to: '2',
        migrate: () => {
          throw new Error('cannot')
        },
      },
    }
    const round = { ...circle, '1': { to: '0', migrate: (state: never) => state } }
    for (const [migrations, reason] of [
      [round, /no migration leads/],
      [broken, /cannot/],
    ] as const) {
      const { tell, pages, snapshots, hear } = stage({ kind: { migrations } })
      const discarded = hear('snapshot.discarded')
      snapshots.write([storedDiary('ada', oldest)])
      tell('ada', wrote(2))
      expect(pages('ada')).toEqual([2])
      expect(discarded[0]?.reason).toMatch(reason)
    }
  })
})
