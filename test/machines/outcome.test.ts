import { describe, expect, it } from 'vitest'
import {
  classify,
  countsAgainstBreaker,
  type OutcomeKind,
  slowsDown,
} from '../../src/machines/outcome.ts'

describe('an answer', () => {
  it.each<[number, OutcomeKind, boolean]>([
    [200, 'success', false],
    [204, 'success', false],
    [304, 'success', false],
    [400, 'clientError', false],
    [401, 'clientError', false],
    [403, 'clientError', false],
    [404, 'clientError', false],
    [408, 'clientError', true],
    [410, 'clientError', false],
    [425, 'clientError', true],
    [429, 'throttled', true],
    [500, 'serverError', true],
    [501, 'serverError', false],
    [502, 'serverError', true],
    [503, 'overloaded', true],
    [504, 'serverError', true],
    [505, 'serverError', false],
  ])('%i is a %s, worth another try: %s', (status, kind, retryable) => {
    expect(classify({ status })).toEqual({ kind, retryable })
  })

  it('an operator may know better which statuses pass', () => {
    const rules = { transientStatuses: [404, 520], permanentStatuses: [500] }
    expect(classify({ status: 404 }, rules)).toEqual({ kind: 'clientError', retryable: true })
    expect(classify({ status: 520 }, rules)).toEqual({ kind: 'serverError', retryable: true })
    expect(classify({ status: 500 }, rules)).toEqual({ kind: 'serverError', retryable: false })
    expect(classify({ status: 502 }, rules).retryable).toBe(true)
  })

  it('a status called both transient and permanent is permanent', () => {
    const rules = { transientStatuses: [404], permanentStatuses: [404] }
    expect(classify({ status: 404 }, rules).retryable).toBe(false)
  })

  it('a success is never repeated, whatever the rules say', () => {
    expect(classify({ status: 200 }, { transientStatuses: [200] }).retryable).toBe(false)
  })
})

describe('no answer', () => {
  it.each([
    { name: 'TimeoutError' },
    { code: 'ECONNREFUSED' },
    { code: 'ECONNRESET' },
    { code: 'EAI_AGAIN' },
    { code: 'ENOTFOUND' },
    { code: 'UND_ERR_CONNECT_TIMEOUT' },
    { code: 'UND_ERR_SOCKET' },
    {},
  ])('%j is a network error and passes', (error) => {
    expect(classify({ error })).toEqual({ kind: 'network', retryable: true })
  })

  it.each(['CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID', 'DEPTH_ZERO_SELF_SIGNED_CERT'])(
    'a certificate refused with %s does not get better by asking again',
    (code) => {
      expect(classify({ error: { code } })).toEqual({ kind: 'network', retryable: false })
    },
  )

  it.each([
    { code: 'ERR_INVALID_URL' },
    { code: 'UND_ERR_INVALID_ARG' },
    { name: 'AbortError' },
    { code: 'UND_ERR_ABORTED', name: 'RequestAbortedError' },
  ])('%j is our own doing', (error) => {
    expect(classify({ error })).toEqual({ kind: 'clientError', retryable: false })
  })
})

describe('what follows from an outcome', () => {
  it.each<[OutcomeKind, boolean, boolean]>([
    ['success', false, false],
    ['clientError', false, false],
    ['throttled', true, true],
    ['overloaded', true, true],
    ['serverError', false, true],
    ['network', false, true],
  ])('%s: slows down %s, counts against the breaker %s', (kind, slows, counts) => {
    expect(slowsDown(kind)).toBe(slows)
    expect(countsAgainstBreaker(kind)).toBe(counts)
  })

  it('a host that says when to come back is not broken', () => {
    expect(countsAgainstBreaker('throttled', true)).toBe(false)
    expect(countsAgainstBreaker('overloaded', true)).toBe(false)
  })
})
