import fc from 'fast-check'
import { expect, it } from 'vitest'
import { VirtualClock } from '../../src/actors/virtual-clock.ts'

it('each timer runs at its own deadline, not at the end of the advance', () => {
  const clock = new VirtualClock(100)
  const seen: number[] = []
  clock.wakeAt(130, () => seen.push(clock.now()))
  clock.wakeAt(110, () => seen.push(clock.now()))
  clock.advance(100)
  expect(seen).toEqual([110, 130])
  expect(clock.now()).toBe(200)
})

it('a timer set by a timer counts from that one’s deadline', () => {
  const clock = new VirtualClock()
  const seen: number[] = []
  const tick = () => {
    seen.push(clock.now())
    clock.wakeAt(clock.now() + 10, tick)
  }
  clock.wakeAt(10, tick)
  clock.advance(45)
  expect(seen).toEqual([10, 20, 30, 40])
})

it('timers for the same instant run in the order of setting', () => {
  const clock = new VirtualClock()
  const seen: string[] = []
  for (const name of ['a', 'b', 'c', 'd']) clock.wakeAt(5, () => seen.push(name))
  clock.advance(5)
  expect(seen).toEqual(['a', 'b', 'c', 'd'])
})

it('a timer for the past runs on the next advance, and time does not go back', () => {
  const clock = new VirtualClock(100)
  const seen: number[] = []
  clock.wakeAt(40, () => seen.push(clock.now()))
  expect(seen).toEqual([])
  clock.advance(0)
  expect(seen).toEqual([100])
  clock.advanceTo(50)
  expect(clock.now()).toBe(100)
})

it('a cancelled timer does not run, and cancelling twice or too late is harmless', () => {
  const clock = new VirtualClock()
  const seen: string[] = []
  const cancelA = clock.wakeAt(5, () => seen.push('a'))
  const cancelB = clock.wakeAt(5, () => seen.push('b'))
  cancelA()
  cancelA()
  clock.advance(10)
  cancelB()
  clock.wakeAt(15, () => seen.push('c'))
  clock.advance(10)
  expect(seen).toEqual(['b', 'c'])
})

it('settle runs turns and what they put on next, without moving time or running timers', () => {
  const clock = new VirtualClock(7)
  const seen: string[] = []
  clock.wakeAt(7, () => seen.push('timer'))
  clock.soon(() => {
    seen.push('first')
    clock.soon(() => seen.push('third'))
  })
  clock.soon(() => seen.push('second'))
  clock.settle()
  expect(seen).toEqual(['first', 'second', 'third'])
  expect(clock.now()).toBe(7)
})

it('turns put on by a timer run before time moves on', () => {
  const clock = new VirtualClock()
  const seen: string[] = []
  clock.wakeAt(1, () => clock.soon(() => seen.push(`turn at ${clock.now()}`)))
  clock.wakeAt(2, () => seen.push(`timer at ${clock.now()}`))
  clock.advance(5)
  expect(seen).toEqual(['turn at 1', 'timer at 2'])
})

it('advanceToNext moves to the next deadline, however far, and says when none is left', () => {
  const clock = new VirtualClock()
  const farAway = 2 ** 40
  clock.wakeAt(farAway, () => {})
  expect(clock.advanceToNext()).toBe(true)
  expect(clock.now()).toBe(farAway)
  expect(clock.advanceToNext()).toBe(false)
})

it('any set of timers runs in the order of deadlines, however the advance is cut up', () => {
  const deadlines = fc.array(fc.nat(50), { maxLength: 30 })
  fc.assert(
    fc.property(deadlines, fc.array(fc.nat(20)), (timers, leaps) => {
      const clock = new VirtualClock()
      const seen: { at: number; now: number }[] = []
      for (const at of timers) clock.wakeAt(at, () => seen.push({ at, now: clock.now() }))
      for (const leap of leaps) clock.advance(leap)
      clock.advanceTo(50)
      expect(seen.map(({ at }) => at)).toEqual(timers.toSorted((a, b) => a - b))
      for (const { at, now } of seen) expect(now).toBe(at)
    }),
  )
})
