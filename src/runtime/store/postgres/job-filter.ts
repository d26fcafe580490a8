import type { JobFilter } from '../job-store.ts'
import { isJobId } from './job-row.ts'
import { storable } from './json-rows.ts'

export interface Conditions {
  /** For a WHERE clause over the table of jobs. */
  readonly text: string
  readonly values: readonly unknown[]
}

/** Parameters count on from `values`. */
export function conditionsOf(filter: JobFilter, values: readonly unknown[] = []): Conditions {
  const all = [...values]
  const parameter = (value: unknown) => `$${all.push(value)}`
  const parts = ['true']
  if (filter.ids) parts.push(`id = ANY (${parameter(filter.ids.filter(isJobId))}::uuid[])`)
  if (filter.states) parts.push(`state = ANY (${parameter(filter.states)}::text[])`)
  if (filter.type !== undefined) parts.push(`type = ${parameter(storable(filter.type))}`)
  if (filter.domain !== undefined) parts.push(`domain = ${parameter(storable(filter.domain))}`)
  if (filter.text) {
    const pattern = parameter(`%${storable(filter.text).replace(/[\\%_]/g, '\\$&')}%`)
    parts.push(`(key ILIKE ${pattern} OR error_message ILIKE ${pattern})`)
  }
  return { text: parts.join(' AND '), values: all }
}
