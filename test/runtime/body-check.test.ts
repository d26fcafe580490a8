import { describe, expect, it } from 'vitest'
import type { StandardResult } from '../../src/jobs/define-job.ts'
import { bodyCheck } from '../../src/runtime/body-check.ts'

it('without a schema anything will do', () => {
  expect(bodyCheck(undefined)(undefined)).toEqual([])
})

describe('a JSON Schema', () => {
  const check = bodyCheck({
    type: 'object',
    required: ['url'],
    additionalProperties: false,
    properties: { url: { type: 'string' }, depth: { type: 'integer', default: 3 } },
  })

  it('takes what fits, and changes nothing of it', () => {
    const body = { url: 'x' }
    expect(check(body)).toEqual([])
    expect(body).toEqual({ url: 'x' })
  })

  it('names everything that is wrong, and where', () => {
    expect(check({ depth: '3', extra: 1 })).toEqual([
      "body must have required property 'url'",
      'body must NOT have additional properties ("extra")',
      'body/depth must be integer',
    ])
  })

  it('that is wrong itself is refused when it is read', () => {
    expect(() => bodyCheck({ type: 'no such type' })).toThrow()
    expect(() => bodyCheck({ $async: true, type: 'object' })).toThrow(/asynchronous/)
  })
})

describe('a Standard Schema', () => {
  const check = (validate: (value: unknown) => StandardResult<unknown> | Promise<never>) =>
    bodyCheck({ '~standard': { version: 1, vendor: 'test', validate } })

  it('takes what fits, and names what does not', () => {
    const path = ['list', { key: 0 }]
    expect(check((value) => ({ value }))(5)).toEqual([])
    expect(
      check(() => ({ issues: [{ message: 'is odd', path }, { message: 'is bad' }] }))(5),
    ).toEqual(['body/list/0 is odd', 'body is bad'])
  })

  it('that cannot answer at once, or stumbles, takes nothing', () => {
    expect(check(async () => ({}) as never)(5)).toHaveLength(1)
    const stumbling = check(() => {
      throw new Error('stumbled')
    })
    expect(stumbling(5)).toEqual(['body cannot be checked: stumbled'])
  })
})
