/** XState is the judge of compiled steps, and has to notice. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assign, setup } from 'xstate'
import { type Statechart, type Step, statechartOf } from '../../src/actors/statechart.ts'
import { proofSpecs } from '../../src/proof/catalogue.ts'
import { Judgement } from '../../src/proof/judgement.ts'
import type { ProofSpec } from '../../src/proof/proof-spec.ts'
import { prove } from '../../src/proof/prove.ts'

const stamp = { at: 0, roll: 0 }

describe.each(proofSpecs.map((spec) => [spec.machine.id, spec] as const))('%s', (_, spec) => {
  it('is compiled, and takes the same steps as in XState whatever happens to it', () => {
    const chart = statechartOf(spec.machine)
    const judge = statechartOf(spec.machine, 'xstate')
    expect(chart.stepping).toBe('compiled')
    const choices = fc.array(fc.nat(), { minLength: 1, maxLength: 40 })
    fc.assert(
      fc.property(choices, (sequence) => {
        expect(differences(spec, chart, judge, sequence)).toEqual([])
      }),
      { numRuns: 150 },
    )
  })
})

/** Both take the events chosen, each from its own states, so that a small difference would grow. */
function differences(
  spec: ProofSpec,
  chart: Statechart,
  judge: Statechart,
  sequence: readonly number[],
): readonly string[] {
  const judgement = new Judgement(chart)
  const input = { ...spec.input, at: spec.startAt, roll: 0 }
  let judged = judge.begin(input)
  let compiled = chart.begin(input)
  let now = spec.startAt
  for (const choice of sequence) {
    if (judged.snapshot.status !== 'active') break
    const events = [...spec.events(judged.snapshot, now)]
    const event = events[choice % events.length]!
    now = event.at
    judged = judge.step(judged.snapshot, event)
    compiled = chart.step(compiled.snapshot, event)
    const found = compiled
    judgement.compare(judged, () => found, event.type)
  }
  return judgement.differences
}

describe('a difference is found', () => {
  const counter = (count: () => number) =>
    setup({ types: { context: {} as { count: number } } }).createMachine({
      id: 'counter',
      version: '1',
      context: { count: 0 },
      initial: 'low',
      states: {
        low: { tags: ['checkpoint'], on: { UP: { target: 'high', actions: assign({ count }) } } },
        high: { tags: ['urgent'] },
      },
    })
  const machine = counter(() => 1)
  const judge = statechartOf(machine, 'xstate')
  const low = () => judge.begin({}).snapshot
  const up = { type: 'UP', ...stamp }

  /** What is said about a compiler that gets this wrong. */
  const saidOf = (wrong: (step: Step) => Step) => {
    const judgement = new Judgement({
      ...judge,
      step: (snapshot, event) => wrong(judge.step(snapshot, event)),
    })
    judgement.step(judge.inspectedStep(low(), up), low())
    return judgement.differences.filter((each) => !each.includes(' persisted '))
  }
  const withSnapshot = (part: object) => (step: Step) =>
    ({ ...step, snapshot: { ...step.snapshot, ...part } }) as Step

  it('none where there is none', () => {
    expect(saidOf((step) => step)).toEqual([])
  })

  it.each<[string, (step: Step) => Step]>([
    ['value', withSnapshot({ value: 'low' })],
    ['context', withSnapshot({ context: { count: 2 } })],
    ['tags', withSnapshot({ tags: new Set() })],
    ['status', withSnapshot({ status: 'done' })],
    ['output', withSnapshot({ output: 1 })],
    ['history', withSnapshot({ historyValue: { 'counter.low': [machine.states.low] } })],
    ['nodes', withSnapshot({ _nodes: [] })],
    ['commands', (step) => ({ ...step, commands: [{ type: 'shout' }] })],
  ])('in the %s', (part, wrong) => {
    expect(saidOf(wrong)).toEqual([
      expect.stringContaining(
        `after UP in 'low' the compiled step has another ${part} than XState's`,
      ),
    ])
  })

  it('in an error that only the compiled step throws', () => {
    const said = saidOf(() => {
      throw new Error('lost my way')
    })
    expect(said.join('\n')).toContain('Error: lost my way')
  })

  it('and the prover reports it', () => {
    let calls = 0
    const { problems } = prove({
      ...{ machine: counter(() => calls++), bounds: '', input: {}, startAt: 0, rests: ['high'] },
      events: () => [up],
      view: () => null,
    })
    expect(problems.join('\n')).toContain(
      "after UP in 'low' the compiled step has another context than XState's",
    )
  })
})
