import { expect, it } from 'vitest'
import { jobIdMaker } from '../../src/runtime/job-id.ts'
import { systemBytes } from '../../src/runtime/random.ts'

const full = () => Uint8Array.from({ length: 10 }, () => 0xff)

it('ids are UUIDs of version 7 that carry their time', () => {
  const id = jobIdMaker({ now: () => 0x0123_4567_89ab }, systemBytes)()
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(id.replaceAll('-', '').slice(0, 12)).toBe('0123456789ab')
})

it.each([
  ['stands still', () => 1_000],
  ['goes back', (call: number) => 1_000_000 - call],
  ['has fractions', (call: number) => 1_000 + call / 10],
])('each is greater than the one before, also when the clock %s', (_, timeAt) => {
  let calls = 0
  for (const bytes of [systemBytes, full]) {
    const makeId = jobIdMaker({ now: () => timeAt(calls++) }, bytes)
    const ids = Array.from({ length: 5_000 }, makeId)
    expect(ids).toEqual([...new Set(ids)].sort())
  }
})

it('two makers do not make the same in the same millisecond', () => {
  const makers = [1, 2].map(() => jobIdMaker({ now: () => 1_000 }, systemBytes))
  const ids = makers.flatMap((makeId) => Array.from({ length: 1_000 }, makeId))
  expect(new Set(ids).size).toBe(2_000)
})
