import { expect, it } from 'vitest'
import { type DeadLetter, DeadLetters } from '../../src/actors/dead-letters.ts'

function letter(at: number, reason: DeadLetter['reason'] = 'absent'): DeadLetter {
  return { kind: 'diary', key: 'ada', event: { type: 'WROTE' }, reason, at }
}

it('the newest letters are kept, oldest first, and all of them are counted', () => {
  const letters = new DeadLetters(3)
  expect(letters.list()).toEqual([])
  letters.add(letter(1))
  letters.add(letter(2, 'overflow'))
  expect(letters.list().map(({ at }) => at)).toEqual([1, 2])
  for (const at of [3, 4, 5]) letters.add(letter(at))
  expect(letters.list().map(({ at }) => at)).toEqual([3, 4, 5])
  expect(letters.counts).toEqual({ absent: 4, overflow: 1 })
})
