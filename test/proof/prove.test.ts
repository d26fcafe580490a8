import { describe, expect, it } from 'vitest'
import { assign, setup } from 'xstate'
import type { Machine, MachineSnapshot } from '../../src/actors/statechart.ts'
import type { ProofSpec } from '../../src/proof/proof-spec.ts'
import { prove } from '../../src/proof/prove.ts'

/** Small machines, each with one fault planted; the prover has to find it and name it. */

interface Context {
  readonly count: number
  readonly dueAt: number | null
}

const base = setup({
  types: { context: {} as Context, events: {} as { type: string; at: number; roll: number } },
  guards: {
    isOdd: ({ context }) => context.count % 2 === 1,
    isNegative: ({ context }) => context.count < 0,
    isSmall: ({ context }) => context.count < 100,
  },
  actions: {
    // Three is enough to see odd and even, and few enough to walk.
    count: assign(({ context }) => ({ count: (context.count + 1) % 3 })),
  },
})

type Config = Parameters<typeof base.createMachine>[0]

function machineOf(states: object, part: object = {}): Machine {
  const [initial] = Object.keys(states)
  const config = { id: 'planted', version: '1', context: { count: 0, dueAt: null }, initial }
  return base.createMachine({ ...config, states, ...part } as Config)
}

/** Every event of the machine in every state; nothing else passes time. */
function specOf(machine: Machine, rests: readonly string[] = []): ProofSpec {
  return {
    ...{ machine, bounds: 'all', input: {}, startAt: 1_000, rests },
    *events({ context }: MachineSnapshot, now) {
      for (const type of machine.events)
        if (type !== 'DUE') yield { type, at: now, roll: 0 }
        else if (context.dueAt !== null) yield { type, at: Math.max(now, context.dueAt), roll: 0 }
    },
    view: ({ count, dueAt }, now) => [count, typeof dueAt === 'number' ? dueAt - now : null],
  }
}

const problemsOf = (machine: Machine, rests?: readonly string[]) =>
  prove(specOf(machine, rests)).problems

const durable = { tags: ['checkpoint'] }
const end = { type: 'final' }

it('a machine without fault is proved, and its figures are counted', () => {
  const machine = machineOf({
    closed: { ...durable, on: { PUSHED: { target: 'open', actions: 'count' } } },
    open: {
      ...durable,
      on: { PUSHED: [{ guard: 'isOdd', target: 'closed' }, { target: 'gone' }] },
    },
    gone: end,
  })
  const onlyOdd = machine.provide({})
  onlyOdd.implementations.guards = { isOdd: machine.implementations.guards.isOdd! }
  const { problems, figures } = prove(specOf(onlyOdd, ['closed']))
  expect(problems).toEqual([])
  expect(figures).toMatchObject({
    ...{ transitions: 3, transitionsTaken: 3, guards: 1, guardsBothWays: 1 },
    // Closed with 0 and with 1, open with 1 and with 2, gone with 2.
    ...{ configurations: 5, paths: 5 },
  })
})

describe('reported by name', () => {
  it('a transition in the shadow of an earlier one without guard', () => {
    const machine = machineOf({
      a: { on: { GO: [{ target: 'b' }, { target: 'c' }], SKIP: { target: 'c' } } },
      b: end,
      c: end,
    })
    expect(problemsOf(machine)).toContain(`transition 'a:GO:1' is never taken`)
    expect(problemsOf(machine)).not.toContain(`transition 'a:GO:0' is never taken`)
  })

  it('a guard that is never true, and the transition it bars', () => {
    const machine = machineOf({
      a: {
        on: { GO: [{ guard: 'isNegative', target: 'b' }, { target: 'c' }], B: { target: 'b' } },
      },
      b: end,
      c: end,
    })
    expect(problemsOf(machine)).toEqual(
      expect.arrayContaining([
        `guard 'isNegative' is never true`,
        `transition 'a:GO:0' is never taken`,
      ]),
    )
  })

  it('a guard that is never false, and what it leaves in the shadow', () => {
    const machine = machineOf({
      a: { on: { GO: [{ guard: 'isSmall', target: 'b' }, { target: 'c' }], C: { target: 'c' } } },
      b: end,
      c: end,
    })
    expect(problemsOf(machine)).toEqual(
      expect.arrayContaining([
        `guard 'isSmall' is never false`,
        `transition 'a:GO:1' is never taken`,
      ]),
    )
  })

  it('a guard that nobody asks', () => {
    expect(problemsOf(machineOf({ a: end }))).toContain(`guard 'isOdd' is never asked`)
  })

  it('a state that is never reached', () => {
    const machine = machineOf({
      a: { on: { GO: { target: 'b' } } },
      b: end,
      attic: { on: { GO: { target: 'b' } } },
    })
    expect(problemsOf(machine)).toEqual(
      expect.arrayContaining([
        `state 'attic' is never reached`,
        `transition 'attic:GO:0' is never taken`,
      ]),
    )
  })

  it('a nested state that is never reached', () => {
    const rooms = { hall: { on: { GO: { target: '#planted.out' } } }, attic: {} }
    const machine = machineOf({ house: { initial: 'hall', states: rooms }, out: end })
    expect(problemsOf(machine)).toContain(`state 'house.attic' is never reached`)
  })

  it('a dead end', () => {
    const machine = machineOf({
      a: { on: { GO: { target: 'b' }, FALL: { target: 'pit' } } },
      b: end,
      pit: { on: { FALL: { target: 'pit' } } },
    })
    expect(problemsOf(machine)).toContain(`state 'pit' is a dead end`)
    expect(problemsOf(machine)).not.toContain(`state 'a' is a dead end`)
  })

  it('a state that may be stayed in is no dead end', () => {
    const machine = machineOf({ a: { on: { GO: { target: 'b' } } }, b: {} })
    expect(problemsOf(machine)).toContain(`state 'b' is a dead end`)
    expect(problemsOf(machine, ['b'])).not.toContain(`state 'b' is a dead end`)
  })

  it('states that only lead to each other, though there is a rest elsewhere', () => {
    const machine = machineOf({
      a: { on: { GO: { target: 'rest' }, STRAY: { target: 'ping' } } },
      rest: {},
      ping: { on: { GO: { target: 'pong' } } },
      pong: { on: { GO: { target: 'ping' } } },
    })
    const found = problemsOf(machine, ['rest']).filter((each) => each.includes('come to rest'))
    expect(found).toEqual([
      `state 'ping' can never come to rest`,
      `state 'pong' can never come to rest`,
    ])
  })

  it('a deadline that DUE does not take away', () => {
    const machine = machineOf({
      a: {
        ...durable,
        on: {
          SET: { actions: assign(({ event }) => ({ dueAt: event.at + 5 })) },
          DUE: { actions: 'count' },
          GO: { target: 'b' },
        },
      },
      b: end,
    })
    expect(problemsOf(machine)).toContain(`state 'a' keeps its deadline after DUE`)
  })
})

describe('a crash shows', () => {
  const stepTo = (count: () => number) =>
    machineOf({
      a: { ...durable, on: { GO: { target: 'b', actions: assign(() => ({ count: count() })) } } },
      b: { ...durable, on: { END: { target: 'c' } } },
      c: end,
    })
  /** Without the count: some of these machines have no end of them. */
  const differencesOf = (machine: Machine) =>
    prove({ ...specOf(machine), view: () => null }).problems.filter((each) =>
      each.startsWith('step'),
    )

  it('nothing where everything is as it was', () => {
    expect(differencesOf(stepTo(() => 7))).toEqual([])
  })

  it('what a machine keeps outside its context', () => {
    let outside = 0
    const [first] = differencesOf(stepTo(() => outside++))
    expect(first).toMatch(/^step 1 of GO@1000, before the crash: foretold .*"count":\d.*found/)
  })

  it('what cannot be written down', () => {
    const [first] = differencesOf(stepTo(() => Number.POSITIVE_INFINITY))
    expect(first).toBe(`step 1 of GO@1000: 'b' is not restored as it was`)
  })

  it('a place in history that is not found again', () => {
    const work = {
      initial: 'first',
      states: {
        first: { ...durable, on: { NEXT: { target: 'second' } } },
        second: durable,
        where: { type: 'history', history: 'deep' },
      },
      on: { PAUSE: { target: 'pause' } },
    }
    const states = { work, pause: { ...durable, on: { GO_ON: { target: 'work.where' } } }, c: end }
    const on = { END: { target: '.c' } }
    expect(differencesOf(machineOf(states, { id: 'plain', on }))).toEqual([])
    expect(differencesOf(machineOf(states, { id: 'with.dots', on }))).toContain(
      `step 1 of PAUSE@1000: 'pause' is not restored as it was`,
    )
  })
})
