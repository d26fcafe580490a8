import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { nodeIdentity } from '../../src/runtime/node-identity.ts'
import { systemBytes } from '../../src/runtime/random.ts'

let directory = ''
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'decorum-identity-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

it('a node keeps its name', async () => {
  const name = await nodeIdentity(directory, systemBytes)
  expect(name).toMatch(/^[\w.-]{1,100}$/)
  expect(await nodeIdentity(directory, systemBytes)).toBe(name)
})

it('two nodes have two names', async () => {
  const one = await nodeIdentity(directory, systemBytes)
  await rm(join(directory, 'node-id'))
  expect(await nodeIdentity(directory, systemBytes)).not.toBe(one)
})

it.each(['', '\n', 'two words', 'x'.repeat(200)])(
  'a spoilt name (%j) is replaced',
  async (spoilt) => {
    await writeFile(join(directory, 'node-id'), spoilt)
    const name = await nodeIdentity(directory, systemBytes)
    expect(name).toMatch(/^[\w.-]{1,100}$/)
    expect((await readFile(join(directory, 'node-id'), 'utf8')).trim()).toBe(name)
  },
)
