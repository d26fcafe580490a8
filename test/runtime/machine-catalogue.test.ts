import { expect, it } from 'vitest'
import { chartOf } from '../../src/machines/chart.ts'
import { proofSpecs } from '../../src/proof/catalogue.ts'
import { JobTypes } from '../../src/runtime/job-types.ts'
import { builtInJobs } from '../../src/runtime/load-jobs.ts'
import { machineCatalogue } from '../../src/runtime/machine-catalogue.ts'

it('every machine that is served is proved, and in exactly this form', () => {
  const byId = (charts: readonly { id: string }[]) =>
    charts.toSorted((one, other) => one.id.localeCompare(other.id))
  const proved = proofSpecs.map(({ machine }) => chartOf(machine))
  expect(byId(machineCatalogue(new JobTypes(builtInJobs)))).toEqual(byId(proved))
})

it('a job type with states of its own is served as a machine of its own', () => {
  const step = { description: 'Bakes.' }
  const cake = {
    type: 'cake.bake',
    version: '1.0',
    states: { baking: step },
    performers: { baking: () => 'cake' },
  }
  const charts = machineCatalogue(new JobTypes([...builtInJobs, cake]))
  expect(charts.map(({ id }) => id)).toEqual([
    'job',
    'job-cake-bake',
    'limiter',
    'breaker',
    'process',
  ])
  expect(charts[1]?.states.map(({ id }) => id)).toContain('working.baking')
})
