import { EventEmitter } from 'node:events'
import { expect, it } from 'vitest'
import { VirtualClock } from '../../src/actors/virtual-clock.ts'
import { onStopSignal } from '../../src/runtime/stop-signals.ts'

it('Ctrl+C and SIGTERM are each a wish to stop', () => {
  const { signals, wishes, clock } = listening()
  signals.emit('SIGINT')
  clock.advance(2_000)
  signals.emit('SIGTERM')
  expect(wishes).toEqual(['SIGINT', 'SIGTERM'])
})

it('one Ctrl+C that arrives twice, from the terminal and from npm, is one wish', () => {
  const { signals, wishes, clock } = listening()
  signals.emit('SIGINT')
  clock.advance(20)
  signals.emit('SIGINT')
  expect(wishes).toEqual(['SIGINT'])
})

it('pressed again by a person, it is a second wish', () => {
  const { signals, wishes, clock } = listening()
  signals.emit('SIGINT')
  clock.advance(501)
  signals.emit('SIGINT')
  expect(wishes).toEqual(['SIGINT', 'SIGINT'])
})

it('leaves nothing behind when cancelled', () => {
  const { signals, cancel } = listening()
  cancel()
  expect(signals.eventNames()).toEqual([])
})

function listening() {
  const signals = new EventEmitter()
  const clock = new VirtualClock(1_000)
  const wishes: string[] = []
  const cancel = onStopSignal(signals, clock, (reason) => wishes.push(reason))
  return { signals, wishes, clock, cancel }
}
