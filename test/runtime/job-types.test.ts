import { expect, it } from 'vitest'
import { JobTypes, JobTypesRefused } from '../../src/runtime/job-types.ts'

const run = () => null
const fine = { type: 'entity.match', version: '1', run }
const states = {
  type: 'staged',
  version: '1',
  states: { one: { description: 'One.', on: { PERFORMED: 'two' } }, two: { description: 'Two.' } },
  performers: { one: run, two: run },
}

it('knows what it was given, by name and by kind of actor', () => {
  const types = new JobTypes([fine, { ...fine, type: 'other' }, { ...states, type: 'a.b' }])
  expect(types.names).toEqual(['entity.match', 'other', 'a.b'])
  expect([...types.kinds.keys()]).toEqual(['job', 'job-a-b'])
  expect(types.get('other')).toMatchObject({ version: '1', attemptsMax: 5 })
  expect(types.get('__proto__')).toBeUndefined()
})

it('takes the schemas of libraries that are functions', () => {
  const schema = Object.assign(() => null, {
    '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
  })
  expect(new JobTypes([{ ...fine, schema }]).get('entity.match')?.check(1)).toEqual([])
})

it.each<[string, unknown, RegExp]>([
  ['nothing', null, /expected an object/],
  ['no type', { version: '1', run }, /'type'/],
  ['a type with spaces', { ...fine, type: 'a b' }, /'type'/],
  ['no version', { type: 'a', run }, /'version'/],
  ['no work', { type: 'a', version: '1' }, /'run' must be a function/],
  ['both kinds of work', { ...states, run }, /not both/],
  ['a schema that is none', { ...fine, schema: 'object' }, /'schema'/],
  ['a schema that is a plain function', { ...fine, schema: () => true }, /'schema'/],
  ['a schema that is wrong', { ...fine, schema: { type: 'odd' } }, /cannot be used/],
  ['a domain that is a text', { ...fine, domain: 'example.org' }, /'domain'/],
  ['no attempts', { ...fine, attemptsMax: 0 }, /'attemptsMax'/],
  ['half a millisecond', { ...fine, attemptMsMax: 0.5 }, /'attemptMsMax'/],
  ['no states', { ...states, states: {} }, /at least one/],
  ['a state without performer', { ...states, performers: { one: run } }, /function 'two'/],
  ['a state with a name that is taken', withState('where', {}), /another name/],
  ['a state that leads out', withState('one', { PERFORMED: 'three' }), /not one of the states/],
  ['a state that leads nowhere', withState('one', {}), /leads nowhere/],
  [
    'a state that takes cancelling for its own',
    withState('one', { CANCELLED: 'one' }),
    /CANCELLED/,
  ],
  ['a state that listens to everything', withState('one', { '*': 'one' }), /another name/],
])('refuses a definition with %s, and says so', (_, definition, words) => {
  expect(() => new JobTypes([definition])).toThrow(JobTypesRefused)
  expect(() => new JobTypes([definition])).toThrow(words)
})

it('refuses two of one name, and what is no list', () => {
  expect(() => new JobTypes([fine, fine])).toThrow(/twice/)
  expect(() => new JobTypes({} as never)).toThrow(/array/)
})

function withState(name: string, on: object) {
  return { ...states, states: { [name]: { description: 'It.', on } }, performers: { [name]: run } }
}
