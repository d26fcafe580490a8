import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Caller } from '../http/test-service.ts'

const program = fileURLToPath(new URL('../../src/cli/serve.ts', import.meta.url))

describe('npm start', () => {
  it('serves health, machines and drawings, and leaves with code 0 on SIGTERM', async () => {
    const child = run({ DECORUM_PORT: '0' })
    const url = await child.url()
    expect(await json(`${url}/healthz`)).toEqual({ status: 'ok', state: 'serving' })
    const { machines } = await json(`${url}/v1/machines`)
    expect(machines).toHaveLength(4)
    const drawing = await fetch(`${url}/v1/machines/process/drawing.svg`)
    expect(drawing.headers.get('content-type')).toBe('image/svg+xml; charset=utf-8')
    expect(await drawing.text()).toContain('data-state="serving"')

    child.process.kill('SIGTERM')
    expect(await child.end).toEqual({ exitCode: 0, stderr: '' })
  })

  it('leaves with code 0 on Ctrl+C', async () => {
    const child = run({ DECORUM_PORT: '0' })
    await child.url()
    child.process.kill('SIGINT')
    expect(await child.end).toEqual({ exitCode: 0, stderr: '' })
  })

  it('on a port that is taken says in one line what to do, and fails', async () => {
    const first = run({ DECORUM_PORT: '0' })
    const { port } = new URL(await first.url())
    expect(await run({ DECORUM_PORT: port }).end).toEqual({
      exitCode: 1,
      stderr: `Decorum stopped. Port ${port} on 127.0.0.1 is taken: end what uses it, or set DECORUM_PORT to another port (0 takes any free one).\n`,
    })
  })

  it('with a setting that does not fit says so before anything is opened, and fails', async () => {
    const { exitCode, stderr } = await run({ DECORUM_PORT: 'seven', DECORUM_HOST: '0.0.0.0' }).end
    expect(exitCode).toBe(2)
    expect(stderr.split('\n')).toEqual([
      expect.stringMatching(/^Decorum cannot start\. DECORUM_HOST is "0\.0\.0\.0": /),
      expect.stringMatching(/^Decorum cannot start\. DECORUM_PORT is "seven": /),
      '',
    ])
  })

  it('on a data directory in use says who uses it, and fails', async () => {
    const data = directory()
    const first = run({ DECORUM_PORT: '0', DECORUM_DATA: data })
    await first.url()
    const { exitCode, stderr } = await run({ DECORUM_PORT: '0', DECORUM_DATA: data }).end
    expect(exitCode).toBe(1)
    expect(stderr).toMatch(
      new RegExp(
        `^Decorum stopped\\. The data directory .* is in use by process ${first.process.pid} `,
      ),
    )
  })
})

describe('npm start with a jobs file', () => {
  it('runs its jobs, and shows the machine of one that has states', async () => {
    const folder = directory()
    writeFileSync(join(folder, 'my-jobs.ts'), jobsFile)
    const child = run({ DECORUM_PORT: '0' }, ['--jobs', './my-jobs.ts'], folder)
    const caller = new Caller(await child.url())
    const greeting = await caller.submit({ type: 'greet', body: { name: 'Ada' } })
    expect((await caller.ended(greeting)).result).toBe('Hello, Ada!')
    const cake = await caller.submit({ type: 'cake.bake' })
    expect((await caller.ended(cake)).result).toBe('flour, baked')
    const { body } = await caller.get('/v1/machines/job-cake-bake')
    expect(body.states.map(({ id }: { id: string }) => id)).toContain('working.baking')
    child.process.kill('SIGTERM')
    expect(await child.end).toEqual({ exitCode: 0, stderr: '' })
  })

  it.each([
    ['is missing', '', /there is no file .*jobs\.ts that can be read: correct the path\.\n$/],
    ['has a mistake', 'export default [\n{ type: }]', /SyntaxError: .* \(.*jobs\.ts:2\)\n$/],
    ['exports no array', 'export default {}', /its default export is not an array/],
    ['has a bad definition', `export default [{ type: 'x' }]`, /'version' must be a text/],
  ])('that %s says so, opens nothing and fails', async (_how, text, message) => {
    const folder = directory()
    if (text) writeFileSync(join(folder, 'jobs.ts'), text)
    const before = readdirSync(folder)
    const { exitCode, stderr } = await run({ DECORUM_JOBS: 'jobs.ts' }, [], folder).end
    expect(exitCode).toBe(2)
    expect(stderr).toMatch(/^Decorum cannot start\. The jobs file jobs\.ts cannot be used: /)
    expect(stderr).toMatch(message)
    expect(readdirSync(folder)).toEqual(before)
  })
})

describe('npm start with words it does not know', () => {
  const usage = 'Usage: serve [--jobs ./my-jobs.ts] [--role all|api|worker]\n'

  it.each([
    [['--job', 'x'], `Unknown option '--job'. ${usage}`],
    [['jobs.ts'], `Unexpected argument 'jobs.ts'. ${usage}`],
    [['--role', 'king'], `There is no role 'king'. ${usage}`],
  ])('%j says which it knows, and fails', async (args, message) => {
    const { exitCode, stderr } = await run({}, args).end
    expect([exitCode, stderr]).toEqual([2, `Decorum cannot start. ${message}`])
  })
})

const jobsFile = `
const greet = {
  type: 'greet',
  version: '1.0',
  run: ({ body }: { body: { name: string } }) => \`Hello, \${body.name}!\`,
}
const bake = {
  type: 'cake.bake',
  version: '1.0',
  states: {
    mixing: { description: 'Mixes.', on: { PERFORMED: 'baking' } },
    baking: { description: 'Bakes.' },
  },
  performers: {
    mixing: () => 'flour',
    baking: ({ work }: { work: { mixing: string } }) => \`\${work.mixing}, baked\`,
  },
}
export default [greet, bake]
`

interface Run {
  readonly process: ChildProcess
  /** From the line that says it serves. */
  url(): Promise<string>
  readonly end: Promise<{ exitCode: number | null; stderr: string }>
}

/** In a directory of its own, unless told otherwise: that is where it keeps its data. */
function run(
  settings: Record<string, string>,
  args: readonly string[] = [],
  cwd = directory(),
): Run {
  const { PATH } = process.env
  const child = spawn(process.execPath, [program, ...args], {
    cwd,
    env: { PATH, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const stderr = text(child.stderr)
  const end = once(child, 'close').then(async ([exitCode]) => ({ exitCode, stderr: await stderr }))
  return { process: child, url: () => announcedUrl(child, end), end }
}

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), 'decorum-test-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

async function announcedUrl(child: ChildProcess, end: Run['end']): Promise<string> {
  if (!child.stdout) throw new Error('no output')
  for await (const line of createInterface({ input: child.stdout })) {
    const [, url] = /^Decorum \S+ is serving on (http:\S+) \(Ctrl\+C stops it\)$/.exec(line) ?? []
    if (url) return url
  }
  throw new Error(`It never served: ${(await end).stderr}`)
}

async function json(url: string): Promise<Record<string, unknown>> {
  return (await fetch(url)).json() as Promise<Record<string, unknown>>
}
