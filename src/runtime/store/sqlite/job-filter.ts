/** A filter as a condition of SQL, with the values it names. */
import type { SQLInputValue } from 'node:sqlite'
import { finalStates, type JobFilter, type JobState, liveStates } from '../job-store.ts'

export interface Condition {
  readonly sql: string
  readonly values: readonly SQLInputValue[]
}

const allStates: readonly JobState[] = [...liveStates, ...finalStates]
const troubledStates: readonly JobState[] = ['failed', 'dead']

export function filterCondition({ ids, states, type, domain, text }: JobFilter): Condition {
  return all([
    ids && { sql: 'id IN (SELECT value FROM json_each(?))', values: [JSON.stringify(ids)] },
    states && { sql: stateCondition(states), values: [] },
    type !== undefined && { sql: 'type = ?', values: [type] },
    domain !== undefined && { sql: 'domain = ?', values: [domain] },
    text !== undefined && {
      sql: `(key LIKE ? ESCAPE '\\' OR error_message LIKE ? ESCAPE '\\')`,
      values: [pattern(text), pattern(text)],
    },
  ])
}

export function all(conditions: readonly (Condition | false | undefined)[]): Condition {
  const given = conditions.filter((one) => one !== false && one !== undefined)
  return {
    sql: ['TRUE', ...given.map(({ sql }) => sql)].join(' AND '),
    values: given.flatMap(({ values }) => values),
  }
}

// Written out, not bound, and one by `=`: an index of some states serves only a query that names
// them in the words of the index. Only words of our own get into the text.
function stateCondition(states: readonly JobState[]): string {
  const [state, ...others] = distinct(states)
  const wanted =
    state && others.length === 0 ? `state = '${state}'` : `state IN (${stateList(states)})`
  const isTroubled = states.every((one) => troubledStates.includes(one))
  return isTroubled ? `state IN (${stateList(troubledStates)}) AND ${wanted}` : wanted
}

function stateList(states: readonly JobState[]): string {
  return distinct(states)
    .map((state) => `'${state}'`)
    .join(', ')
}

function distinct(states: readonly JobState[]): readonly JobState[] {
  return allStates.filter((state) => states.includes(state))
}

/** Few are on their way at a time: sorting those beats walking past all that have ended. */
export function jobsFor({ states = [] }: JobFilter): string {
  const [state, ...others] = distinct(states)
  const isFew = others.length === 0 && (state === 'running' || state === 'scheduled')
  return isFew ? `jobs INDEXED BY jobs_${state}` : 'jobs'
}

function pattern(text: string): string {
  return `%${text.replace(/[\\%_]/g, '\\$&')}%`
}
