import { describe, expect, it } from 'vitest'
import { assign, createMachine, emit, log, raise, spawnChild } from 'xstate'
import { statechartOf, stateName } from '../../src/actors/statechart.ts'
import { diaryChart } from './fixtures/diary-machine.ts'

const stamp = { at: 0, roll: 0 }

function stepOn(action: object) {
  const machine = createMachine({
    id: 'busybody',
    version: '1',
    on: { GO: { actions: action as never } },
  })
  const chart = statechartOf(machine)
  return chart.step(chart.begin({}).snapshot, { type: 'GO', ...stamp })
}

describe('machines the host does not take', () => {
  it('a machine without a version is refused: its snapshots could never be told apart', () => {
    expect(() => statechartOf(createMachine({ id: 'nameless' }))).toThrow(
      "Machine 'nameless' has no version.",
    )
  })

  it('a machine that listens to whatever comes is refused', () => {
    const curious = createMachine({
      id: 'curious',
      version: '1',
      on: { 'news.*': { actions: emit({ type: 'tell' }) } },
    })
    expect(() => statechartOf(curious)).toThrow("Machine 'curious' listens to 'news.*'.")
  })

  it.each([
    ['code of its own', () => {}],
    ['a log line', log('hello')],
    ['a child', spawnChild('child' as never)],
    ['a timer', raise({ type: 'GO' }, { delay: 10 })],
  ])('an action that would run %s throws and says what to do instead', (_, action) => {
    expect(() => stepOn(action)).toThrow(
      /Machine 'busybody' tried to run the action.*emit a command/,
    )
  })

  it('the same when it would run at the very beginning', () => {
    const hasty = createMachine({ id: 'hasty', version: '1', entry: () => {} })
    expect(() => statechartOf(hasty).begin({})).toThrow(/Machine 'hasty' tried to run/)
  })

  it('a loop without an end throws instead of hanging', () => {
    const dizzy = createMachine({
      id: 'dizzy',
      version: '1',
      initial: 'still',
      states: {
        still: { on: { GO: 'left' } },
        left: { always: 'right' },
        right: { always: 'left' },
      },
      options: { maxIterations: 50 },
    })
    const chart = statechartOf(dizzy)
    const { snapshot } = chart.begin({})
    expect(() => chart.step(snapshot, { type: 'GO', ...stamp })).toThrow('Infinite loop')
  })
})

describe('steps', () => {
  it('a step yields the next state and the commands, and leaves the state before as it was', () => {
    const before = diaryChart.begin({ owner: 'Ada' }).snapshot
    const asked = diaryChart.step(before, { type: 'ASKED', ...stamp })
    expect(asked.snapshot.value).toBe('asking')
    expect(asked.commands).toEqual([{ type: 'noteQuestion' }, { type: 'ask' }])
    expect(before.value).toBe('shut')
    expect(diaryChart.step(before, { type: 'OPENED', ...stamp }).commands).toEqual([])
  })

  it('the commands of a step that throws do not turn up in the next one', () => {
    const machine = createMachine({
      id: 'hiccup',
      version: '1',
      on: {
        FAIL: {
          actions: [
            emit({ type: 'shout' }),
            assign(() => {
              throw new Error('hiccup')
            }),
          ],
        },
        GO: { actions: emit({ type: 'whisper' }) },
      },
    })
    const chart = statechartOf(machine)
    const { snapshot } = chart.begin({})
    expect(() => chart.step(snapshot, { type: 'FAIL', ...stamp })).toThrow('hiccup')
    expect(chart.step(snapshot, { type: 'GO', ...stamp }).commands).toEqual([{ type: 'whisper' }])
  })

  it('a persisted state is plain JSON and restores to the same state', () => {
    const { snapshot } = diaryChart.step(diaryChart.begin({ owner: 'Ada' }).snapshot, {
      type: 'OPENED',
      ...stamp,
    })
    const persisted = diaryChart.persist(snapshot)
    const restored = diaryChart.restore(JSON.parse(JSON.stringify(persisted)))
    expect(restored.value).toBe('open')
    expect(diaryChart.persist(restored)).toEqual(persisted)
    expect([...restored.tags]).toEqual([...snapshot.tags])
  })
})

it.each([
  ['pacing', 'pacing'],
  [{ working: 'fetching' }, 'working.fetching'],
  [{ working: { fetching: 'head' } }, 'working.fetching.head'],
  [{ a: 'x', b: { y: 'z' } }, 'a.x+b.y.z'],
  [{ a: {} }, 'a'],
])('the state %j is called %s', (value, name) => {
  expect(stateName(value as never)).toBe(name)
})
