import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { ActorHost } from '../../src/actors/host.ts'
import { MemorySnapshots } from '../../src/actors/memory-snapshots.ts'
import { VirtualClock } from '../../src/actors/virtual-clock.ts'
import { beginProcessLife, type ProcessDuties } from '../../src/runtime/process-life.ts'

const never = () => new Promise<void>(() => {})

describe('the life of a process', () => {
  it('serves once everything has started, and ends well when asked to stop', async () => {
    const { life, calls, pass } = begin({})
    expect(life.state).toBe('starting')
    await pass()
    await life.serving
    expect(life.state).toBe('serving')
    life.requestStop('SIGTERM')
    await pass()
    expect(await life.ended).toEqual({ exitCode: 0, reason: 'SIGTERM' })
    expect(life.state).toBe('stopped')
    expect(calls).toEqual(['start', 'drain', 'stop'])
  })

  it('ends with the reason when it cannot start, after closing what was opened', async () => {
    const { life, calls, pass } = begin({ start: () => Promise.reject(new Error('No disk.')) })
    await pass()
    expect(await life.ended).toEqual({ exitCode: 1, reason: 'No disk.' })
    expect(calls).toEqual(['start', 'stop'])
  })

  it('asked to stop while it starts, closes only after the start has settled', async () => {
    const started = Promise.withResolvers<void>()
    const { life, calls, pass } = begin({ start: () => started.promise })
    await pass()
    life.requestStop('SIGINT')
    await pass()
    expect(calls).toEqual(['start'])
    started.resolve()
    await pass()
    expect(await life.ended).toEqual({ exitCode: 0, reason: 'SIGINT' })
    expect(calls).toEqual(['start', 'stop'])
  })

  it('waits for what runs until the grace period is over, not longer', async () => {
    const { life, clock, pass } = begin({ drain: never })
    await pass()
    life.requestStop('SIGTERM')
    await pass()
    clock.advance(999)
    expect(life.state).toBe('draining')
    clock.advance(1)
    await pass()
    expect(await life.ended).toEqual({ exitCode: 0, reason: 'SIGTERM' })
  })

  it('asked a second time, does not wait', async () => {
    const { life, pass } = begin({ drain: never })
    await pass()
    life.requestStop('SIGTERM')
    await pass()
    expect(life.state).toBe('draining')
    life.requestStop('SIGINT')
    await pass()
    expect(await life.ended).toEqual({ exitCode: 0, reason: 'SIGINT' })
  })

  it('ends, with a code that says so, when closing never comes to an end', async () => {
    const { life, clock, pass } = begin({ stop: never })
    await pass()
    life.requestStop('SIGTERM')
    await pass()
    clock.advance(499)
    expect(life.state).toBe('stopping')
    clock.advance(1)
    expect((await life.ended).exitCode).toBe(1)
  })

  it('ends, with a code that says so, when closing fails', async () => {
    const { life, pass } = begin({ stop: () => Promise.reject(new Error('Still busy.')) })
    await pass()
    life.requestStop('SIGTERM')
    await pass()
    expect(await life.ended).toEqual({ exitCode: 1, reason: 'Still busy.' })
  })

  it('can be stopped even when its actor takes no more letters', async () => {
    const { life, host, pass } = begin({})
    await pass()
    host.halt()
    life.requestStop('SIGTERM')
    expect(await life.ended).toEqual({ exitCode: 1, reason: 'SIGTERM' })
  })
})

function begin(given: Partial<ProcessDuties>) {
  const clock = new VirtualClock()
  const host = new ActorHost({ clock, chance: () => 0, snapshots: new MemorySnapshots() })
  const calls: string[] = []
  const duty = (name: keyof ProcessDuties) => async () => {
    calls.push(name)
    await given[name]?.()
  }
  const duties = { start: duty('start'), drain: duty('drain'), stop: duty('stop') }
  const life = beginProcessLife(host, duties, { graceMs: 1_000, stopMsMax: 500 })
  /** Lets everything happen that needs no time to pass. */
  const pass = async () => {
    for (let turns = 0; turns < 5; turns++) {
      clock.settle()
      await nextTurn()
    }
  }
  return { life, host, clock, calls, pass }
}
