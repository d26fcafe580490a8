import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { driftOf } from '../../src/drawing/document-files.ts'
import { documentsOf } from '../../src/drawing/documents.ts'
import { chartOf } from '../../src/machines/chart.ts'
import { proofSpecs } from '../../src/proof/catalogue.ts'
import { type Proof, prove } from '../../src/proof/prove.ts'

const root = join(import.meta.dirname, '..', '..')
const proofs: Proof[] = []

describe.each(proofSpecs.map((spec) => [spec.machine.id, spec] as const))('%s', (_, spec) => {
  let proof: Proof
  beforeAll(() => {
    proof = prove(spec)
    proofs.push(proof)
  }, 120_000)

  it('takes every transition, reaches every state, comes to rest from everywhere, survives every crash', () => {
    expect(proof.problems).toEqual([])
  })

  it('takes 100 % of its transitions and asks every guard both ways', () => {
    const { transitions, transitionsTaken, guards, guardsBothWays } = proof.figures
    expect([transitionsTaken, guardsBothWays]).toEqual([transitions, guards])
    expect(transitions).toBeGreaterThan(0)
  })

  it('has a description on every state and every transition', () => {
    const { states, transitions } = chartOf(spec.machine)
    const silent = [...states, ...transitions].filter(({ description }) => description === '')
    expect(silent.map(({ id }) => id)).toEqual([])
  })
})

describe('generated documents', () => {
  it('are what `npm run docs` would write now', async () => {
    expect(proofs).toHaveLength(proofSpecs.length)
    expect(await driftOf(root, await documentsOf(proofs))).toEqual([])
  }, 120_000)
})
