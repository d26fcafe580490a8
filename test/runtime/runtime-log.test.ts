import { describe, expect, it } from 'vitest'
import { TypedEvents } from '../../src/actors/typed-events.ts'
import type { RuntimeEventMap } from '../../src/runtime/runtime-events.ts'
import { logRuntimeEvents } from '../../src/runtime/runtime-log.ts'

const about = { id: 'j1', type: 'x', domain: '', attempt: 2, fence: 3, at: 5 }
const nobody = { requeued: 0, dead: [], cancelled: 0 }

describe('the log of a runtime', () => {
  it.each(['failed', 'dead'] as const)('warns of a job that is %s, with its error', (as) => {
    const error = { code: 'job.failed', message: 'no' }
    const line = { level: 'warn', message: 'job.settled', ...about, as, error }
    expect(linesOf('job.settled', { ...about, as, error })).toEqual([line])
  })

  it.each(['done', 'skipped', 'cancelled', 'requeued', 'parked'] as const)(
    'has no word about a job that is %s',
    (as) => {
      expect(linesOf('job.settled', { ...about, as, error: null })).toEqual([])
    },
  )

  it('keeps what a handler says, with its trace, apart from what the log itself says', () => {
    const words = { message: 'halfway', fields: { level: 'fatal' }, traceId: 't', spanId: 's' }
    expect(linesOf('job.logged', { ...about, ...words })).toEqual([
      {
        level: 'info',
        message: 'job.logged',
        ...about,
        text: 'halfway',
        fields: { level: 'fatal' },
        trace_id: 't',
        span_id: 's',
      },
    ])
  })

  it('tells of the first failure of a duty and of every tenth, with the error', () => {
    const { events, lines } = logged()
    const error = new Error('away')
    for (let failures = 1; failures <= 20; failures++)
      events.emit('duty.failed', () => ({ at: 1, duty: 'relay', failures, error }))
    events.emit('duty.recovered', () => ({ at: 2, duty: 'relay' }))
    expect(lines).toEqual([
      ...[1, 10, 20].map((failures) => ({
        level: 'error',
        message: 'duty.failed',
        at: 1,
        duty: 'relay',
        failures,
        err: error,
      })),
      { level: 'info', message: 'duty.recovered', at: 2, duty: 'relay' },
    ])
  })

  it.each(['jobs.rescued', 'node.enlisted'] as const)(
    'warns of %s when jobs were taken back, and only then',
    (name) => {
      const event = { at: 1, epoch: 2, recovered: nobody }
      expect(linesOf(name, event)).toEqual([])
      const recovered = { ...nobody, dead: ['j1'] }
      expect(linesOf(name, { ...event, recovered })).toMatchObject([{ level: 'warn', recovered }])
    },
  )

  it('warns of rows of the outbox that were refused, and only then', () => {
    expect(linesOf('outbox.relayed', { at: 1, moved: 3, refused: 0 })).toEqual([])
    expect(linesOf('outbox.relayed', { at: 1, moved: 3, refused: 1 })).toMatchObject([
      { level: 'warn', refused: 1 },
    ])
  })

  it.each([
    ['node.leaseLost', { at: 1, jobs: 2, reason: 'late' }],
    ['schedule.refused', { at: 1, name: 'nightly', reason: 'no such type' }],
    ['job.deaf', { ...about, reason: 'it took too long' }],
    ['job.lost', about],
  ] as const)('warns of %s', (name, event) => {
    expect(linesOf(name, event)).toEqual([{ level: 'warn', message: name, ...event }])
  })

  it('says nothing more once it is cancelled', () => {
    const { events, lines, cancel } = logged()
    cancel()
    events.emit('duty.recovered', () => ({ at: 2, duty: 'relay' }))
    expect(lines).toEqual([])
  })
})

function linesOf<N extends keyof RuntimeEventMap>(name: N, event: RuntimeEventMap[N]): object[] {
  const { events, lines } = logged()
  events.emit(name, () => event)
  return lines
}

function logged() {
  const events = new TypedEvents<RuntimeEventMap>((error) => {
    throw error
  })
  const lines: object[] = []
  const line = (level: string) => (fields: object, message: string) => {
    lines.push({ ...fields, level, message })
  }
  const log = { info: line('info'), warn: line('warn'), error: line('error') }
  return { events, lines, cancel: logRuntimeEvents(events, log) }
}
