import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Recency, type Recent } from '../../src/actors/recency.ts'

class Item implements Recent<Item> {
  readonly name: number
  usedAt = 0
  newer: Item | undefined
  older: Item | undefined

  constructor(name: number) {
    this.name = name
  }
}

const operations = fc.record({
  do: fc.constantFrom('use' as const, 'use' as const, 'remove' as const),
  name: fc.nat(7),
})

it('the list answers as an array in the order of use would, from either end', () => {
  fc.assert(
    fc.property(fc.array(operations, { maxLength: 100 }), (steps) => {
      const items = Array.from({ length: 8 }, (_, name) => new Item(name))
      const list = new Recency<Item>()
      let model: Item[] = []
      steps.forEach((step, at) => {
        const item = items[step.name]!
        const isIn = model.includes(item)
        model = model.filter((other) => other !== item)
        if (step.do === 'use') {
          if (!isIn) list.add(item)
          list.touch(item, at)
          model.push(item)
          expect(item.usedAt).toBe(at)
        } else if (isIn) list.remove(item)
        expect(fromOldest(list)).toEqual(model.map(({ name }) => name))
        expect(fromNewest(model)).toEqual(model.map(({ name }) => name).toReversed())
      })
    }),
  )
})

function fromOldest(list: Recency<Item>): number[] {
  const names: number[] = []
  for (let item = list.oldest; item; item = item.newer) names.push(item.name)
  return names
}

function fromNewest(model: readonly Item[]): number[] {
  const names: number[] = []
  for (let item = model.at(-1); item; item = item.older) names.push(item.name)
  return names
}
