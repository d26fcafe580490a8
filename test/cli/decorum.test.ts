import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'

const program = fileURLToPath(new URL('../../src/cli/decorum.ts', import.meta.url))

describe('decorum', () => {
  it.each([[['--help']], [[]]])('%j lists the commands', (args) => {
    const { status, stdout } = run(args)
    expect(status).toBe(0)
    expect(stdout).toMatch(/^Usage: decorum <command>\n {2}serve .*\n {2}doctor .*\n$/)
  })

  it.each(['toast', 'constructor'])('%s is no command, and it says which are', (name) => {
    const { status, stderr } = run([name])
    expect(status).toBe(2)
    expect(stderr).toMatch(new RegExp(`^There is no command '${name}'\\.\nUsage: decorum`))
  })
})

describe('decorum doctor', () => {
  it('prints a line for each thing it looked at, and makes nothing', () => {
    const { status, stdout, cwd } = run(['doctor'])
    expect(status).toBe(0)
    expect(stdout.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^ok {5}configuration {2}\w/),
      expect.stringMatching(/^ok {5}jobs {11}\w/),
      expect.stringMatching(/^ok {5}data {11}\w/),
      expect.stringMatching(/^ok {5}database {7}\w/),
    ])
    expect(readdirSync(cwd)).toEqual([])
  })

  it('fails when something is wrong, and tells programs what', () => {
    const { status, stdout } = run(['doctor', '--json', '--jobs', 'none.ts'])
    expect(status).toBe(1)
    expect(JSON.parse(stdout).findings).toContainEqual({
      check: 'jobs',
      isWrong: true,
      message: expect.stringContaining('The jobs file none.ts cannot be used'),
    })
  })

  it('does not take words it does not know', () => {
    expect(run(['doctor', '--fix'])).toMatchObject({
      status: 2,
      stderr: "Unknown option '--fix'. Usage: doctor [--jobs ./my-jobs.ts] [--json]\n",
    })
  })
})

function run(args: readonly string[]) {
  const { PATH } = process.env
  const cwd = mkdtempSync(join(tmpdir(), 'decorum-test-'))
  onTestFinished(() => rmSync(cwd, { recursive: true }))
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    cwd,
    env: { PATH },
    encoding: 'utf8',
  })
  return { status, stdout, stderr, cwd }
}
