import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'

const source = (name: string) =>
  fileURLToPath(new URL(`../../src/runtime/${name}`, import.meta.url))

/** A process that watches itself and then does what it is told. */
async function watched(behaviour: string, reportMs: number, killMs: number) {
  const program = `
    const { startStallWatch } = await import(${JSON.stringify(source('stall-watch.ts'))})
    const { systemClock } = await import(${JSON.stringify(source('clock.ts'))})
    const watch = startStallWatch(systemClock, { reportMs: ${reportMs}, killMs: ${killMs} })
    watch.begins('job 7 (page.title)')
    ${behaviour}`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  // Should the watch fail, nobody else would end it.
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const [said, [code, signal]] = await Promise.all([text(child.stderr), once(child, 'exit')])
  return { said, code, signal }
}

it('a process that stands still is named with what it began last, and ended when it stays so', async () => {
  const { said, signal } = await watched('await watch.watching; for (;;);', 200, 400)
  expect(said).toContain('has stood still')
  expect(said).toContain('job 7 (page.title)')
  expect(signal).toBe('SIGKILL')
})

it('a process that goes on hears nothing of it, and can stop watching', async () => {
  const { said, code } = await watched('await watch.watching; await watch.stop()', 60_000, 120_000)
  expect(said).toBe('')
  expect(code).toBe(0)
})
