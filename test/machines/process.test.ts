import { describe, expect, it } from 'vitest'
import { statechartOf } from '../../src/actors/statechart.ts'
import {
  type ProcessCommand,
  type ProcessContext,
  type ProcessMessage,
  processMachine,
} from '../../src/machines/process.ts'
import { HostedMachine, START_AT } from './hosted-machine.ts'

type Process = HostedMachine<ProcessMessage, ProcessCommand, ProcessContext>

const policy = { graceMs: 5_000, stopMsMax: 4_000 }
const chart = statechartOf(processMachine(policy))

const starting = (): Process => new HostedMachine(processMachine(policy))
const serving = () => starting().send({ type: 'STARTED' })
const draining = () => serving().send(stopRequested)
const stopping = () => draining().send({ type: 'DRAINED' })
const stopRequested: ProcessMessage = { type: 'STOP_REQUESTED', reason: 'SIGTERM' }
const asked = (process: Process) => process.take().map(({ type }) => type)

/** The exit code and reason a history ends with, by the machine alone. */
function exitOf(...messages: ProcessMessage[]): unknown {
  return messages.reduce(
    (snapshot, message) => chart.step(snapshot, { ...message, at: START_AT, roll: 0 }).snapshot,
    chart.begin({}).snapshot,
  ).output
}

it('starts, serves, drains, stops', () => {
  const process = starting()
  expect([process.state, asked(process)]).toEqual(['starting', ['start']])
  process.send({ type: 'STARTED' })
  expect([process.state, asked(process)]).toEqual(['serving', []])
  process.send(stopRequested)
  expect([process.state, asked(process)]).toEqual(['draining', ['drain']])
  process.send({ type: 'DRAINED' })
  expect([process.state, asked(process)]).toEqual(['stopping', ['stop']])
  expect(process.send({ type: 'STOPPED' }).state).toBe('stopped')
})

describe('running jobs', () => {
  it('may finish until the grace period is over; then the rest is handed back', () => {
    const process = draining()
    expect(process.advance(4_999).state).toBe('draining')
    expect(process.advance(1).state).toBe('stopping')
    expect(asked(process)).toEqual(['start', 'drain', 'stop'])
  })

  it('asked a second time, it stops at once', () => {
    const process = draining().send({ type: 'STOP_REQUESTED', reason: 'SIGINT' })
    expect(process.state).toBe('stopping')
    expect(process.context).toMatchObject({ reason: 'SIGINT', exitCode: 0 })
  })

  it('a third time changes nothing', () => {
    const process = stopping()
    const { context } = process
    expect(process.send(stopRequested).context).toEqual(context)
  })

  it('stopped before it had begun, there is nothing to wait for', () => {
    expect(starting().send(stopRequested).state).toBe('stopping')
  })
})

describe('the exit code', () => {
  const stopped: ProcessMessage = { type: 'STOPPED' }
  const failed: ProcessMessage = { type: 'FAILED', reason: 'no database' }

  it('is zero when it was asked to stop and could', () => {
    const end = exitOf({ type: 'STARTED' }, stopRequested, { type: 'DRAINED' }, stopped)
    expect(end).toEqual({ exitCode: 0, reason: 'SIGTERM' })
  })

  it.each([
    ['starting', []],
    ['serving', [{ type: 'STARTED' }]],
    ['draining', [{ type: 'STARTED' }, stopRequested]],
    ['stopping', [{ type: 'STARTED' }, stopRequested, { type: 'DRAINED' }]],
  ] as [string, ProcessMessage[]][])(
    'is one, with the reason, when it failed while %s',
    (_, before) => {
      expect(exitOf(...before, failed, stopped)).toEqual({ exitCode: 1, reason: 'no database' })
    },
  )

  it('is one when closing took too long, and the process ends regardless', () => {
    const process = stopping()
    expect(process.advance(3_999).state).toBe('stopping')
    expect(process.advance(1).state).toBe('stopped')
    expect(exitOf(stopRequested, { type: 'DUE' })).toEqual({
      exitCode: 1,
      reason: 'SIGTERM; closing took longer than 4000 ms',
    })
  })
})

it.each([
  ['starting', starting],
  ['serving', serving],
  ['draining', draining],
] as const)('a failure while %s leads straight to stopping, with time to close', (_, make) => {
  const process = make().send({ type: 'FAILED', reason: 'no database' })
  expect(process.state).toBe('stopping')
  expect(process.context.dueAt).toBe(process.now + 4_000)
  expect(asked(process).at(-1)).toBe('stop')
})
