import { describe, expect, it } from 'vitest'
import { and, assign, createActor, emit, not, or, setup, stateIn } from 'xstate'
import { chartOf, transitionIds } from '../../src/machines/chart.ts'
import { jobLike, limiterLike, parallelLike } from '../drawing/fixture-machines.ts'

describe('the chart of a machine', () => {
  it('holds every state once, by its path below the root', () => {
    expect(chartOf(jobLike).states.map((state) => state.id)).toEqual([
      '',
      'working',
      'working.fetching',
      'working.parsing',
      'working.complete',
      'working.again',
      'backingOff',
      'settling',
      'done',
      'skipped',
      'failed',
      'dead',
      'cancelled',
      'released',
      'lost',
    ])
  })

  it('tells what a state is, where it lives and what is entered first', () => {
    const states = new Map(chartOf(jobLike).states.map((state) => [state.id, state]))
    expect(states.get('')).toMatchObject({ parent: null, key: 'job', initial: 'working' })
    expect(states.get('working')).toMatchObject({
      parent: '',
      kind: 'compound',
      initial: 'working.fetching',
    })
    expect(states.get('working.fetching')).toMatchObject({
      parent: 'working',
      key: 'fetching',
      kind: 'atomic',
      initial: null,
      tags: ['checkpoint'],
      entry: ['fetch'],
      description: 'A request is under way.',
    })
    expect(states.get('working.again')?.kind).toBe('history')
    expect(states.get('done')?.kind).toBe('final')
    expect(chartOf(parallelLike).states[0]).toMatchObject({ kind: 'parallel', initial: null })
  })

  it('carries id, version and description of the machine', () => {
    expect(chartOf(jobLike)).toMatchObject({
      id: 'job',
      version: '3',
      description: 'One job from claim to settlement.',
    })
    expect(chartOf(parallelLike).version).toBe('')
  })

  it('counts candidates of one event in the order in which they are tried', () => {
    const due = chartOf(limiterLike).transitions.filter(
      ({ source, event }) => source === 'pacing' && event === 'DUE',
    )
    expect(due.map(({ id, guard, targets }) => [id, guard, targets])).toEqual([
      ['pacing:DUE:0', 'lastWaiter', ['flowing']],
      ['pacing:DUE:1', 'hasToken', []],
      ['pacing:DUE:2', 'tokenLater', []],
    ])
  })

  it('includes transitions of the root, eventless ones, those on done and wildcards', () => {
    const ids = (machine: typeof jobLike | typeof limiterLike) =>
      chartOf(machine).transitions.map(({ id, kind, event }) => [id, kind, event])
    expect(ids(jobLike)).toContainEqual([':INSPECTED:0', 'event', 'INSPECTED'])
    expect(ids(jobLike)).toContainEqual(['backingOff:@always:0', 'always', ''])
    expect(ids(jobLike)).toContainEqual(['working:@done:0', 'done', 'done'])
    expect(ids(limiterLike)).toContainEqual(['paused:*:0', 'event', '*'])
  })

  it('names guards and actions so that a reader finds them in the source', () => {
    const machine = setup({
      guards: { a: () => true, b: (_, limit: { max: number }) => limit.max > 0 },
      actions: { note: () => {} },
    }).createMachine({
      id: 'named',
      on: {
        COMBINED: { guard: and(['a', not('a'), or(['a', { type: 'b', params: { max: 2 } }])]) },
        PARAMETERS: { guard: { type: 'b', params: { max: 1 } } },
        PLACE: { guard: stateIn('#named') },
        INLINE: { guard: () => true },
        ACTIONS: { actions: ['note', emit({ type: 'x' }), assign({}), () => {}] },
      },
    })
    const { transitions } = chartOf(machine)
    expect(transitions.map(({ guard }) => guard)).toEqual([
      'and(a, not(a), or(a, b))',
      'b',
      'in(#named)',
      '(inline)',
      '',
    ])
    expect(transitions.at(-1)?.actions).toEqual(['note', 'emit', 'assign', '(inline)'])
  })

  it('tells apart staying, entering again and going to several states', () => {
    const transitions = [limiterLike, parallelLike].flatMap((each) => chartOf(each).transitions)
    const byId = new Map(transitions.map((transition) => [transition.id, transition]))
    expect(byId.get('cooling:ACQUIRE:0')).toMatchObject({ targets: [], reenter: false })
    expect(byId.get('cooling:THROTTLED:0')).toMatchObject({ targets: ['cooling'], reenter: true })
    expect(byId.get(':RESET:0')?.targets).toEqual(['sound.on', 'screen.off'])
  })

  it('is plain data', () => {
    const chart = chartOf(jobLike)
    expect(JSON.parse(JSON.stringify(chart))).toEqual(chart)
  })
})

describe('the ids of transitions', () => {
  it.each([limiterLike, jobLike, parallelLike])(
    'are unique and those of the chart: $id',
    (machine) => {
      const ids = [...transitionIds(machine).values()]
      expect(new Set(ids).size).toBe(ids.length)
      expect(chartOf(machine).transitions.map(({ id }) => id)).toEqual(ids)
    },
  )

  it('are found by the very objects that inspection reports', () => {
    const ids = transitionIds(limiterLike)
    const taken: (string | undefined)[] = []
    const actor = createActor(limiterLike, {
      inspect: (event) => {
        if (event.type === '@xstate.microstep') {
          taken.push(...event._transitions.map((transition) => ids.get(transition)))
        }
      },
    })
    actor.start()
    actor.send({ type: 'ACQUIRE' })
    actor.send({ type: 'RELEASED' })
    expect(taken).toEqual(['idle:ACQUIRE:0', 'flowing:RELEASED:0'])
  })

  it('are refused when names with colons would make two of them equal', () => {
    const machine = setup({}).createMachine({
      id: 'colons',
      initial: 'a',
      states: { a: { on: { 'b:c': {} } }, 'a:b': { on: { c: {} } } },
    })
    expect(() => transitionIds(machine)).toThrow('two transitions called "a:b:c:0"')
  })
})
