import { expect, it } from 'vitest'
import { setup } from 'xstate'
import { ActorHost } from '../../src/actors/host.ts'
import { MemorySnapshots } from '../../src/actors/memory-snapshots.ts'
import { statechartOf } from '../../src/actors/statechart.ts'
import { VirtualClock } from '../../src/actors/virtual-clock.ts'
import { logHostEvents } from '../../src/runtime/host-log.ts'

const machine = setup({}).createMachine({
  id: 'lamp',
  version: '1',
  on: { BREAK: { actions: () => {} } },
})

it('a crash is logged with its error, a letter to nobody as a warning', () => {
  const clock = new VirtualClock(5)
  const host = new ActorHost({ clock, chance: () => 0, snapshots: new MemorySnapshots() })
  const lines: unknown[] = []
  const line = (level: string) => (fields: object, message: string) => {
    lines.push({ level, message, ...fields })
  }
  logHostEvents(host, { info: line('info'), warn: line('warn'), error: line('error') })
  const lamps = host.register({
    name: 'lamp',
    chart: () => statechartOf(machine),
    isDurable: false,
    perform: () => {},
  })
  lamps.start('kitchen', { input: {}, isNew: true })
  lamps.send('kitchen', { type: 'BREAK' })
  lamps.send('cellar', { type: 'BREAK' })
  clock.settle()

  const about = { kind: 'lamp', at: 5, event: { type: 'BREAK' } }
  expect(lines).toEqual([
    { level: 'warn', message: 'letter.dead', key: 'cellar', reason: 'absent', ...about },
    { level: 'warn', message: 'letter.dead', key: 'kitchen', reason: 'crashed', ...about },
    expect.objectContaining({
      level: 'error',
      message: 'actor.crashed',
      key: 'kitchen',
      err: expect.objectContaining({ message: expect.stringContaining('Machines only assign') }),
    }),
  ])
})
