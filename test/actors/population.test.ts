import fc from 'fast-check'
import { expect, it } from 'vitest'
import { stateName } from '../../src/actors/statechart.ts'
import type { DiaryMessage } from './fixtures/diary-machine.ts'
import { stage, wrote } from './fixtures/stage.ts'

const letters = fc.constantFrom<DiaryMessage>(
  wrote(1),
  { type: 'OPENED' },
  { type: 'SHUT' },
  { type: 'HIDDEN' },
  { type: 'LAID_AWAY' },
  { type: 'ASKED' },
  { type: 'BURNT' },
  { type: 'ASSIGN_THROWS' },
  { type: 'ASSIGN_THROWS' },
  { type: 'PROMISED', dueAt: 1_000_500 },
)
const keys = fc.constantFrom('a', 'b', 'c', 'd', 'nobody')
const operations = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('send' as const), key: keys, letters }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.nat(400) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('settle' as const, 'evict' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('start' as const), key: keys }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('release' as const),
      key: keys,
      from: fc.constantFrom('lastState' as const, 'beginning' as const),
    }),
  },
)

it('the counts always equal a recount of the actors that are there', () => {
  fc.assert(
    fc.property(fc.array(operations, { maxLength: 60 }), (steps) => {
      const { clock, host, diaries, send } = stage({
        kind: { idleMs: 100, actorsMax: 3 },
        supervision: { crashesMax: 2, periodMs: 1_000, delayMs: 50, delayMsMax: 100 },
      })
      // Where each is, as the events tell it: up with a state, down, or not there.
      const isUp = new Map<string, boolean>()
      host.on('actor.activated', ({ key }) => isUp.set(key, true))
      host.on('actor.crashed', ({ key }) => isUp.set(key, false))
      for (const end of ['actor.finished', 'actor.evicted', 'actor.fenced'] as const)
        host.on(end, ({ key }) => isUp.delete(key))

      for (const step of steps) {
        if (step.do === 'send') send(step.key, step.letters)
        else if (step.do === 'advance') clock.advance(step.ms)
        else if (step.do === 'start') diaries.start(step.key, { input: { owner: step.key } })
        else if (step.do === 'release') host.release('diary', step.key, step.from)
        else if (step.do === 'evict') host.evictIdle()
        else clock.settle()

        expect(total(diaries.population.states)).toBe(diaries.size)
        clock.settle()
        const quarantined = new Set(host.quarantined().map(({ key }) => key))
        const recount: Record<string, number> = {}
        for (const [key, up] of isUp) {
          const down = quarantined.has(key) ? '(quarantined)' : '(restarting)'
          const state = up ? stateName(diaries.peek(key)!.value) : down
          recount[state] = (recount[state] ?? 0) + 1
        }
        expect(diaries.population.states).toEqual(recount)
        expect(isUp.size).toBe(diaries.size)
      }
    }),
    { numRuns: 300 },
  )
})

it('the host shows the populations of all kinds, in the order of state names', () => {
  const { host, tell } = stage()
  tell('a', { type: 'SHUT' })
  tell('b', { type: 'OPENED' })
  tell('c', { type: 'OPENED' })
  expect(Object.entries(host.populations.diary!.states)).toEqual([
    ['open', 2],
    ['shut', 1],
  ])
})

function total(states: Readonly<Record<string, number>>): number {
  return Object.values(states).reduce((sum, count) => sum + count, 0)
}
