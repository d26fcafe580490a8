import { describe, expect, it } from 'vitest'
import { assign, setup } from 'xstate'
import { type Letter, statechartOf } from '../../src/actors/statechart.ts'
import { START_AT, stage, storedDiary, upTo, wrote } from './fixtures/stage.ts'

describe('deadlines', () => {
  it('each rings at its own instant, once', () => {
    const { clock, host, send, diaries } = stage()
    const rung: [string, number][] = []
    for (const index of upTo(20)) {
      const key = `diary-${index}`
      send(key, { type: 'PROMISED', dueAt: START_AT + ((index * 7) % 20) })
      host.inspect('diary', key, ({ event }) => {
        if (event.type === 'DUE') rung.push([key, event.at])
      })
    }
    clock.advance(100)
    const expected = upTo(20)
      .map((index): [string, number] => [`diary-${index}`, START_AT + ((index * 7) % 20)])
      .toSorted(([, a], [, b]) => a - b)
    expect(rung).toEqual(expected)
    expect(diaries.peek('diary-3')?.context.rings).toBe(1)
  })

  it('a deadline that is moved rings at its new instant only', () => {
    const { clock, tell, context } = stage()
    tell('ada', { type: 'PROMISED', dueAt: START_AT + 100 })
    tell('ada', { type: 'PROMISED', dueAt: START_AT + 300 })
    clock.advance(200)
    expect(context('ada')?.rings).toBe(0)
    tell('ada', { type: 'PROMISED', dueAt: START_AT + 250 })
    clock.advance(50)
    expect(context('ada')?.rings).toBe(1)
  })

  it('one in the past rings at once', () => {
    const { clock, tell, context } = stage()
    tell('ada', { type: 'PROMISED', dueAt: 5 })
    clock.advance(0)
    expect(context('ada')?.rings).toBe(1)
  })

  it('one more than 2^31 ms away rings then and not before', () => {
    const { clock, tell, context } = stage()
    const farAway = START_AT + 2 ** 31 + 12_345
    tell('ada', { type: 'PROMISED', dueAt: farAway })
    clock.advanceTo(farAway - 1)
    expect(context('ada')?.rings).toBe(0)
    clock.advanceTo(farAway)
    expect(context('ada')?.rings).toBe(1)
  })

  it('an actor that has ended is not woken', () => {
    const { clock, tell, diaries, hear } = stage({ kind: { isDurable: false } })
    const crashed = hear('actor.crashed')
    tell('ada', { type: 'PROMISED', dueAt: START_AT + 100 }, { type: 'BURNT' })
    clock.advance(1_000)
    expect(diaries.size).toBe(0)
    expect(crashed).toEqual([])
  })
})

describe('after a restart', () => {
  it('a stored deadline rings at its instant', () => {
    const { clock, diaries, snapshots, context } = stage()
    snapshots.write([storedDiary('ada', { context: { dueAt: START_AT + 500 } })])
    diaries.start('ada', { input: { owner: 'ada' } })
    clock.advance(499)
    expect(context('ada')?.rings).toBe(0)
    clock.advance(1)
    expect(context('ada')?.rings).toBe(1)
  })

  it('an overdue one rings at once, after RESUMED', () => {
    const { clock, host, diaries, snapshots } = stage()
    snapshots.write([storedDiary('ada', { context: { dueAt: START_AT - 500 } })])
    const heard: string[] = []
    host.inspect('diary', 'ada', ({ event }) => void heard.push(event.type))
    diaries.start('ada', { input: { owner: 'ada' } })
    clock.advance(0)
    expect(heard).toEqual(['RESUMED', 'DUE'])
  })

  it('a deadline that passed while the actor waited to be restarted rings after that', () => {
    const { clock, tell, context } = stage()
    tell('ada', { type: 'ASSIGN_THROWS' })
    clock.advance(0)
    tell('ada', { type: 'PROMISED', dueAt: clock.now() + 10 }, { type: 'ASSIGN_THROWS' })
    clock.advance(49)
    expect(context('ada')?.rings).toBe(0)
    clock.advance(1)
    expect(context('ada')?.rings).toBe(1)
  })
})

describe('a machine that does not do its part', () => {
  const stubborn = setup({
    types: { context: {} as { dueAt: number | null }, events: {} as Letter & { dueAt: number } },
  }).createMachine({
    id: 'stubborn',
    version: '1',
    context: { dueAt: null },
    on: { SET: { actions: assign(({ event }) => ({ dueAt: event.dueAt })) }, DUE: {} },
  })

  function stubbornStage() {
    const set = stage()
    const chart = statechartOf(stubborn)
    const actors = set.host.register<Letter & { dueAt: number }, never>({
      name: 'stubborn',
      chart: () => chart,
      input: () => ({}),
      perform: () => {},
      isDurable: false,
    })
    return { ...set, actors, crashed: set.hear('actor.crashed') }
  }

  it('that keeps a deadline it was told of is reported, and not woken for ever', () => {
    const { clock, actors, tell, pages, crashed, host } = stubbornStage()
    actors.send('s', { type: 'SET', dueAt: START_AT + 10 })
    clock.advance(100_000)
    expect(String(crashed[0]?.error)).toContain('dueAt is still 1000010')
    expect(crashed[0]).toMatchObject({ kind: 'stubborn', cause: { type: 'DUE' } })
    expect(host.quarantined()).toMatchObject([{ kind: 'stubborn', key: 's' }])
    const crashes = crashed.length
    clock.advance(10_000_000)
    expect(crashed).toHaveLength(crashes)
    tell('ada', wrote(1))
    expect(pages('ada')).toEqual([1])
    expect(host.deadLetters.list()).toEqual([])
  })

  it.each([Number.NaN, 'soon'])(
    'whose deadline is %s crashes, and disturbs nobody’s timers',
    (dueAt) => {
      const { clock, actors, tell, context, crashed } = stubbornStage()
      tell('ada', { type: 'PROMISED', dueAt: START_AT + 30 })
      tell('bob', { type: 'PROMISED', dueAt: START_AT + 20 })
      actors.send('s', { type: 'SET', dueAt: dueAt as number })
      clock.settle()
      tell('cy', { type: 'PROMISED', dueAt: START_AT + 10 })
      expect(crashed).toMatchObject([{ kind: 'stubborn', cause: { type: 'SET' } }])
      for (const [key, at] of [
        ['cy', 10],
        ['bob', 20],
        ['ada', 30],
      ] as const) {
        clock.advanceTo(START_AT + at - 1)
        expect(context(key)?.rings).toBe(0)
        clock.advanceTo(START_AT + at)
        expect(context(key)?.rings).toBe(1)
      }
      expect(actors.peek('s')?.context).toEqual({ dueAt: null })
    },
  )
})
