import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { plantedViolations } from './architecture/planted-violations.ts'
import { type Rule, rules } from './architecture/rules.ts'
import { readSourceTree, type SourceTree, sourceTree } from './architecture/source-tree.ts'

const tree = await readSourceTree(fileURLToPath(new URL('..', import.meta.url)))

describe('the architecture', () => {
  it.each(rules)('$name', (rule) => {
    const findings = reportOf(rule, tree)
    if (findings.length > 0) expect.fail(`${rule.name}\n${rule.reason}\n${findings.join('\n')}`)
  })
})

describe('each rule notices what it forbids, and nothing else', () => {
  it.each(plantedViolations)('$rule', async ({ rule: name, forbidden, allowed }) => {
    const rule = rules.find((candidate) => candidate.name.includes(name))
    if (!rule) return expect.fail('no rule has these words in its name')
    for (const { files, report } of forbidden) {
      expect(reportOf(rule, await sourceTree(files))).toEqual(report)
    }
    for (const files of allowed) expect(reportOf(rule, await sourceTree(files))).toEqual([])
  })

  it('and no rule goes without a planted violation', () => {
    const planted = plantedViolations.map(({ rule }) => rule)
    const untried = rules.filter(({ name }) => !planted.some((words) => name.includes(words)))
    expect(untried.map(({ name }) => name)).toEqual([])
  })
})

function reportOf(rule: Rule, tree: SourceTree): string[] {
  return rule.forbids(tree).map(({ path, line, what }) => `${path}:${line} ${what}`)
}
