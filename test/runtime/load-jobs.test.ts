import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { loadJobs } from '../../src/runtime/load-jobs.ts'

describe('a jobs file', () => {
  it('adds its types to the built-in ones', async () => {
    const path = file('jobs.ts', hello('hello'))
    expect((await loadJobs(path)).names).toEqual(['http.request', 'hello'])
  })

  it('as the README shows it can be used as it stands', async () => {
    const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
    const [run = '', states = ''] = [...readme.matchAll(/```ts\n(.*?)```/gs)].map(
      ([, code]) => code,
    )
    const path = file('jobs.ts', `${states}\n${run.replace('[titles]', '[titles, report]')}`)
    expect((await loadJobs(path)).names).toEqual(['http.request', 'page.title', 'report.make'])
  })

  it('is not needed', async () => {
    expect((await loadJobs(undefined)).names).toEqual(['http.request'])
  })

  it('may be TypeScript with types in it', async () => {
    const path = file(
      'jobs.ts',
      `type Body = { name: string }
       const greet = (body: Body): string => 'hello ' + body.name
       export default [{ type: 'greet', version: '1.0', run: ({ body }: { body: Body }) => greet(body) }]`,
    )
    expect((await loadJobs(path)).names).toContain('greet')
  })

  it('that is not there is refused', async () => {
    await expect(loadJobs('./no-such-jobs.ts')).rejects.toThrow(
      /^The jobs file \.\/no-such-jobs\.ts cannot be used: there is no file \/.*\/no-such-jobs\.ts that can be read: correct the path\.$/,
    )
  })

  it.each([
    ['without a default export', 'export const jobs = []', 'it has no default export'],
    ['that exports one job', 'export default {}', 'its default export is not an array'],
    ['that throws', `throw new TypeError('no such thing')`, 'TypeError: no such thing'],
    ['that imports what is not there', `import './nothing.ts'`, 'nothing.ts'],
    ['with something that is no job', 'export default [7]', 'Job definition 2: expected an object'],
    ['with a job that has no version', `export default [{ type: 'x' }]`, "'version' must be"],
    ['with a job twice', hello('hello', 'hello'), "The job type 'hello' is defined twice."],
    ['with a built-in type', hello('http.request'), "'http.request' is defined twice."],
  ])('%s is refused with what is wrong', async (_how, text, problem) => {
    const path = file('jobs.ts', text)
    const refusal = await loadJobs(path).catch((error: Error) => error.message)
    expect(refusal).toContain(`The jobs file ${path} cannot be used: `)
    expect(refusal).toContain(problem)
  })
})

function hello(...types: string[]): string {
  const jobs = types.map((type) => `{ type: '${type}', version: '1.0', run: () => 'hello' }`)
  return `export default [${jobs.join(', ')}]`
}

function file(name: string, text: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'decorum-test-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const path = join(directory, name)
  writeFileSync(path, text)
  return path
}
