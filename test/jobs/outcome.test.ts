import { describe, expect, it } from 'vitest'
import { JobOutcome, outcomeOfError, outcomeOfResult, outcomes } from '../../src/jobs/outcome.ts'

describe('what a handler returns', () => {
  it('is the result, whatever it looks like', () => {
    const lookalike = { kind: 'reject', error: { code: 'x', message: 'x' } }
    expect(outcomeOfResult(lookalike)).toEqual({ kind: 'done', result: lookalike })
    expect(outcomeOfResult(undefined)).toEqual({ kind: 'done', result: undefined })
  })

  it('is an outcome when it was made as one', () => {
    expect(outcomeOfResult(outcomes.skip('gone'))).toEqual({ kind: 'skipped', reason: 'gone' })
    expect(outcomeOfResult(outcomes.wait(new Date(5_000), 'busy'))).toEqual({
      kind: 'wait',
      until: 5_000,
      reason: 'busy',
    })
    expect(outcomeOfResult(outcomes.retry('no', { afterMs: 7.2 }))).toEqual({
      kind: 'retry',
      error: { code: 'job.failed', message: 'no' },
      afterMs: 8,
    })
  })

  it.each([Number.NaN, Number.POSITIVE_INFINITY, 1e300, 'soon' as never])(
    'cannot be put off by %s',
    (value) => {
      expect(() => outcomes.wait(value, 'x')).toThrow(/finite number/)
      expect(() => outcomes.retry('x', { afterMs: value })).toThrow(/finite number/)
    },
  )

  it('may have any reason, cut to a sensible length', () => {
    const { outcome } = outcomes.skip('x'.repeat(1e6))
    expect(outcome.kind === 'skipped' && outcome.reason.length).toBeLessThan(2_010)
    expect(outcomes.skip(undefined as never).outcome).toMatchObject({ reason: 'undefined' })
  })
})

describe('what a handler throws', () => {
  const thrown = (value: unknown) => {
    const outcome = outcomeOfError(value)
    if (outcome.kind !== 'retry') throw new Error(`It became ${outcome.kind}.`)
    return outcome.error
  }

  it('is a failure that may be tried again', () => {
    expect(thrown(new Error('broken'))).toEqual({ code: 'job.failed', message: 'broken' })
    expect(thrown('words')).toEqual({ code: 'job.failed', message: 'words' })
  })

  it('keeps its code, also one that is hidden in a cause', () => {
    const cause = Object.assign(new Error('connect failed'), { code: 'ECONNREFUSED' })
    expect(thrown(new TypeError('fetch failed', { cause }))).toEqual({
      code: 'ECONNREFUSED',
      message: 'fetch failed: connect failed',
    })
  })

  it('is an outcome when it was made as one', () => {
    expect(outcomeOfError(outcomes.reject({ code: 'c', message: 'm' }))).toEqual({
      kind: 'reject',
      error: { code: 'c', message: 'm' },
    })
    expect(outcomes.reject(new Error('m'))).toBeInstanceOf(JobOutcome)
  })

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a symbol', Symbol('it')],
    ['an object without a prototype', Object.create(null)],
    ['a message that is no text', { message: { a: 1 } }],
    ['a code that is a number', Object.assign(new Error('x'), { code: 5 })],
    ['an endless message', new Error('x'.repeat(1e6))],
    ['an endless code', Object.assign(new Error('x'), { code: 'x'.repeat(1e6) })],
  ])('becomes a short code and a short message, also for %s', (_, value) => {
    const { code, message } = thrown(value)
    expect(code.length).toBeLessThanOrEqual(100)
    expect(message.length).toBeLessThanOrEqual(2_001)
  })

  it('may be its own cause', () => {
    const error = new Error('round')
    error.cause = error
    expect(thrown(error)).toEqual({ code: 'job.failed', message: 'round' })
  })
})
