import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Timed, TimerHeap } from '../../src/actors/timer-heap.ts'

interface Item extends Timed {
  readonly name: number
}

function newItem(name: number): Item {
  return { name, heapIndex: -1, heapAt: 0, heapOrder: 0 }
}

/** A list, searched from end to end. */
class NaiveTimers {
  #set: { name: number; at: number }[] = []

  set(name: number, at: number): void {
    if (this.#set.some((timer) => timer.name === name && timer.at === at)) return
    this.clear(name)
    this.#set.push({ name, at })
  }

  clear(name: number): void {
    this.#set = this.#set.filter((timer) => timer.name !== name)
  }

  takeDue(now: number): number | undefined {
    const first = this.#set.toSorted((a, b) => a.at - b.at)[0]
    if (!first || first.at > now) return undefined
    this.clear(first.name)
    return first.name
  }

  get size(): number {
    return this.#set.length
  }

  get nextAt(): number | undefined {
    return this.#set.length === 0 ? undefined : Math.min(...this.#set.map(({ at }) => at))
  }
}

const names = fc.nat(15)
const instants = fc.nat(40)
const operations = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('set'), name: names, at: instants }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('clear'), name: names, at: instants }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('take'), name: names, at: instants }) },
)

it('the heap answers as a sorted list would, under any setting, moving, clearing and taking', () => {
  fc.assert(
    fc.property(fc.array(operations, { maxLength: 200 }), (steps) => {
      const items = Array.from({ length: 16 }, (_, name) => newItem(name))
      const heap = new TimerHeap<Item>()
      const naive = new NaiveTimers()
      for (const step of steps) {
        const item = items[step.name]!
        if (step.do === 'set') {
          heap.set(item, step.at)
          naive.set(step.name, step.at)
        } else if (step.do === 'clear') {
          heap.clear(item)
          naive.clear(step.name)
        } else expect(heap.takeDue(step.at)?.name).toBe(naive.takeDue(step.at))
        expect(heap.size).toBe(naive.size)
        expect(heap.nextAt).toBe(naive.nextAt)
      }
      for (let left = naive.size; left > 0; left--)
        expect(heap.takeDue(40)?.name).toBe(naive.takeDue(40))
      expect(heap.takeDue(Number.POSITIVE_INFINITY)).toBeUndefined()
    }),
    { numRuns: 300 },
  )
})

it('an item that was taken or cleared can be set again', () => {
  const heap = new TimerHeap<Item>()
  const item = newItem(1)
  heap.set(item, 5)
  expect(heap.takeDue(5)).toBe(item)
  heap.set(item, 5)
  heap.clear(item)
  heap.clear(item)
  heap.set(item, 6)
  expect(heap.takeDue(5)).toBeUndefined()
  expect(heap.takeDue(6)).toBe(item)
})
