import type { ErrorObject } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { BodySchema, StandardIssue, StandardSchema } from '../jobs/define-job.ts'

/** What is wrong with a body, in words; nothing when it is right. */
export type BodyCheck = (body: unknown) => readonly string[]

/** Throws when the schema itself is wrong. */
export function bodyCheck(schema: BodySchema<unknown> | undefined): BodyCheck {
  if (schema === undefined) return () => []
  return neverThrowing(isStandard(schema) ? standardCheck(schema) : jsonSchemaCheck(schema))
}

/** A schema that stumbles over a body must not take down whatever else is submitted with it. */
function neverThrowing(check: BodyCheck): BodyCheck {
  return (body) => {
    try {
      return check(body)
    } catch (error) {
      return [`body cannot be checked: ${error instanceof Error ? error.message : error}`]
    }
  }
}

function isStandard(schema: BodySchema<unknown>): schema is StandardSchema<unknown> {
  return '~standard' in schema
}

function jsonSchemaCheck(schema: object): BodyCheck {
  // A body is checked as it is: nothing is filled in, converted or taken away.
  if ('$async' in schema) throw new Error('its schema is asynchronous: leave out $async')
  // Of whatever draft it says it is: what bodies need is the same in all of them.
  const { $schema: _, ...anyDraft } = schema as Readonly<Record<string, unknown>>
  const validate = new Ajv2020({ allErrors: true, strict: false }).compile(anyDraft)
  return (body) => (validate(body) ? [] : (validate.errors ?? []).map(ajvProblem))
}

function ajvProblem({ instancePath, message = 'does not fit', params }: ErrorObject): string {
  const extra = 'additionalProperty' in params ? ` ("${params.additionalProperty}")` : ''
  return `body${instancePath} ${message}${extra}`
}

function standardCheck({ '~standard': standard }: StandardSchema<unknown>): BodyCheck {
  return (body) => {
    const result = standard.validate(body)
    if (result instanceof Promise)
      return ['body cannot be checked: the schema of this type is asynchronous']
    return result.issues?.map(standardProblem) ?? []
  }
}

function standardProblem({ path = [], message }: StandardIssue): string {
  const keys = path.map((part) => String(typeof part === 'object' ? part.key : part))
  return `body${keys.map((key) => `/${key}`).join('')} ${message}`
}
