import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'

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
})

interface Run {
  readonly process: ChildProcess
  /** From the line that says it serves. */
  url(): Promise<string>
  readonly end: Promise<{ exitCode: number | null; stderr: string }>
}

function run(settings: Record<string, string>): Run {
  const { PATH } = process.env
  const child = spawn(process.execPath, [program], {
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
