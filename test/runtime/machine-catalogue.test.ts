import { expect, it } from 'vitest'
import { chartOf } from '../../src/machines/chart.ts'
import { proofSpecs } from '../../src/proof/catalogue.ts'
import { machineCatalogue } from '../../src/runtime/machine-catalogue.ts'

it('every machine that is served is proved, and in exactly this form', () => {
  const byId = (charts: readonly { id: string }[]) =>
    charts.toSorted((one, other) => one.id.localeCompare(other.id))
  const proved = proofSpecs.map(({ machine }) => chartOf(machine))
  expect(byId(machineCatalogue())).toEqual(byId(proved))
})
