import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const vitest = join(
  dirname(createRequire(import.meta.url).resolve('vitest/package.json')),
  'vitest.mjs',
)
const config = fileURLToPath(new URL('./unavailable-suite/vitest.config.ts', import.meta.url))

it('a suite whose server cannot be had is skipped, and says why', async () => {
  const { code, output } = await runUnavailableSuite({ CI: '' })
  expect(output).toContain('skipped, no PostgreSQL: this machine has no packages')
  expect(output).toMatch(/Tests +1 skipped/)
  expect(code).toBe(0)
})

it('with CI=true the same suite fails, and says why', async () => {
  const { code, output } = await runUnavailableSuite({ CI: 'true' })
  expect(output).toContain('ServerUnavailable: this machine has no packages')
  expect(code).toBe(1)
})

async function runUnavailableSuite(environment: { CI: string }) {
  const run = spawn(process.execPath, [vitest, 'run', '--config', config], {
    env: { ...process.env, ...environment, NO_COLOR: '1', FORCE_COLOR: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [printed, complained, [code]] = await Promise.all([
    text(run.stdout),
    text(run.stderr),
    once(run, 'exit'),
  ])
  return { code, output: printed + complained }
}
