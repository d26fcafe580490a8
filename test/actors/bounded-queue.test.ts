import fc from 'fast-check'
import { expect, it } from 'vitest'
import { BoundedQueue } from '../../src/actors/bounded-queue.ts'

const operations = fc.oneof(
  { weight: 5, arbitrary: fc.constant('push' as const) },
  { weight: 4, arbitrary: fc.constant('shift' as const) },
  { weight: 1, arbitrary: fc.constant('takeAll' as const) },
)

it('the queue answers as an array with a limit would', () => {
  fc.assert(
    fc.property(fc.nat(6), fc.array(operations, { maxLength: 100 }), (itemsMax, steps) => {
      const queue = new BoundedQueue<number>(itemsMax)
      let model: number[] = []
      steps.forEach((step, number) => {
        if (step === 'push') {
          const fits = model.length < itemsMax
          if (fits) model.push(number)
          expect(queue.push(number)).toBe(fits)
        } else if (step === 'shift') expect(queue.shift()).toBe(model.shift())
        else {
          expect(queue.takeAll()).toEqual(model)
          model = []
        }
        expect(queue.size).toBe(model.length)
      })
    }),
  )
})

it('order and size stay right in a long queue that is never quite empty', () => {
  const queue = new BoundedQueue<number>(Number.POSITIVE_INFINITY)
  let pushed = 0
  let taken = 0
  for (; pushed < 3_000; pushed++) queue.push(pushed)
  for (let round = 0; round < 10_000; round++) {
    expect(queue.shift()).toBe(taken++)
    queue.push(pushed++)
    expect(queue.size).toBe(3_000)
  }
  expect(queue.takeAll()).toEqual(Array.from({ length: 3_000 }, (_, index) => taken + index))
})
