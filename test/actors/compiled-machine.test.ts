/** Whatever XState makes of an event, a compiled step makes of it too. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assign, createMachine, emit, raise, setup } from 'xstate'
import { type Machine, type Step, statechartOf } from '../../src/actors/statechart.ts'
import { Judgement } from '../../src/proof/judgement.ts'
import { EVENT_TYPES, randomMachine } from './fixtures/random-machine.ts'

const stamp = { at: 0, roll: 0 }

type Sequence = readonly { readonly type: string; readonly [field: string]: unknown }[]

/** Lets both take the same events, each from its own states, and says where they part. */
function differences(machine: Machine, events: Sequence): readonly string[] {
  const chart = statechartOf(machine)
  const judge = statechartOf(machine, 'xstate')
  expect([chart.stepping, judge.stepping]).toEqual(['compiled', 'xstate'])
  const judgement = new Judgement(chart)
  let judged = attempt(() => judge.begin({}))
  let compiled = attempt(() => chart.begin({}))
  for (const event of [undefined, ...events]) {
    if (event && judged && compiled) {
      if (judged.snapshot.status !== 'active') break
      const [before, own] = [judged.snapshot, compiled.snapshot]
      judged = attempt(() => judge.step(before, { ...event, ...stamp }))
      compiled = attempt(() => chart.step(own, { ...event, ...stamp }))
    }
    if (!judged || !compiled) return judged === compiled ? [] : ['only one of the two threw']
    const found = compiled
    judgement.compare(judged, () => found, event?.type ?? 'at the beginning')
  }
  return judgement.differences
}

function attempt(step: () => Step): Step | undefined {
  try {
    return step()
  } catch {
    return undefined
  }
}

it('machines nobody would write take the same steps as in XState', () => {
  const event = fc.record({ type: fc.constantFrom(...EVENT_TYPES), by: fc.nat(3) })
  fc.assert(
    fc.property(
      randomMachine,
      fc.array(event, { minLength: 1, maxLength: 12 }),
      (machine, events) => {
        expect(differences(machine, events)).toEqual([])
      },
    ),
    // Drawn machines do not shrink to anything smaller.
    { numRuns: 400, endOnFailure: true },
  )
})

describe('compiled like XState', () => {
  const turnstile = setup({ types: { context: {} as { count: number } } }).createMachine({
    id: 'turnstile',
    version: '1',
    context: { count: 0 },
    initial: 'shut',
    states: {
      shut: { on: { PAID: 'open', PUSHED: {} }, entry: emit({ type: 'lock' }) },
      open: {
        on: {
          PUSHED: 'shut',
          PAID: { target: 'open', reenter: true },
          COUNTED: { actions: assign({ count: ({ context }) => context.count + 1 }) },
        },
        exit: emit({ type: 'bell' }),
      },
    },
    on: { PUSHED: { actions: emit({ type: 'never' }) } },
  })

  it('a forbidden event, one nobody knows, a self-transition and an assignment', () => {
    const events = ['PUSHED', 'UNKNOWN', 'PAID', 'COUNTED', 'PAID', 'PUSHED']
    expect(
      differences(
        turnstile,
        events.map((type) => ({ type })),
      ),
    ).toEqual([])
  })

  it('an event that changes nothing yields the very snapshot it came to', () => {
    const chart = statechartOf(turnstile)
    const { snapshot } = chart.begin({})
    expect(chart.step(snapshot, { type: 'PUSHED', ...stamp }).snapshot).toBe(snapshot)
  })

  it('snapshots answer what anybody may ask one of XState’s', () => {
    const chart = statechartOf(turnstile)
    const { snapshot } = chart.step(chart.begin({}).snapshot, { type: 'PAID', ...stamp })
    expect(snapshot.matches('open')).toBe(true)
    expect(snapshot.can({ type: 'COUNTED' })).toBe(true)
    expect(snapshot.can({ type: 'SUNG' })).toBe(false)
    expect(snapshot.hasTag('checkpoint')).toBe(false)
    expect(snapshot.machine).toBe(turnstile)
    expect(turnstile.getPersistedSnapshot(snapshot)).toMatchObject({ value: 'open' })
    const shut = statechartOf(turnstile, 'xstate').step(snapshot, { type: 'PUSHED', ...stamp })
    expect(shut.snapshot.value).toBe('shut')
  })

  it('a guard that throws is reported in XState’s words', () => {
    const machine = createMachine({
      id: 'unsure',
      version: '1',
      on: {
        GO: {
          guard: () => {
            throw new Error('who knows')
          },
        },
      },
    })
    const messageOf = (stepping: 'compiled' | 'xstate') => {
      const chart = statechartOf(machine, stepping)
      try {
        chart.step(chart.begin({}).snapshot, { type: 'GO', ...stamp })
      } catch (error) {
        return (error as Error).message
      }
      return 'nothing'
    }
    expect(messageOf('compiled')).toContain('who knows')
    expect(messageOf('compiled')).toBe(messageOf('xstate'))
  })
})

describe('left to XState as a whole', () => {
  it.each<[string, object]>([
    ['states side by side', { type: 'parallel', states: { a: {}, b: {} } }],
    ['a timer', { after: { 10: { actions: emit({ type: 'x' }) } } }],
    ['a delayed event', { on: { GO: { actions: raise({ type: 'GO' }, { delay: 1 }) } } }],
    ['code of its own', { entry: () => {} }],
    ['an invocation', { invoke: { src: 'x' } }],
    ['a forbidden wildcard', { on: { '*': {} } }],
    ['an output and a last word', { output: 1, exit: emit({ type: 'x' }) }],
  ])('a machine with %s', (_, part) => {
    const machine = createMachine({ id: 'other', version: '1', ...part } as never)
    expect(statechartOf(machine).stepping).toBe('xstate')
  })
})
