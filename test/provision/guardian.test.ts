import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { throwAwayFolder } from './fake-programs.ts'
import { isListening, processesNaming } from './probe.ts'
import { usePostgres, useRedis } from './use-server.ts'

const ownerFile = fileURLToPath(new URL('./server-owner.ts', import.meta.url))
type Owner = ChildProcessByStdio<null, Readable, null>

const patiently = { timeout: 20_000, interval: 20 }

describe('a server does not outlive the process that started it', () => {
  // Nothing here talks to these two; they skip the suite where no server can be had.
  useRedis()
  usePostgres()

  it.each(['SIGKILL', 'SIGTERM', 'SIGINT'] as const)('when that is ended by %s', async (signal) => {
    const { owner, folder } = startOwner('redis')
    const port = await portFrom(owner)
    expect(await isListening(port)).toBe(true)
    owner.kill(signal)
    await nothingIsLeft(folder, port)
  })

  it.each(['exit', 'throw', 'return'])('when that ends by itself (%s)', async (ending) => {
    const { owner, folder } = startOwner('redis', ending)
    await nothingIsLeft(folder, await portFrom(owner))
  })

  it('when that is killed beside a PostgreSQL with all its processes', async () => {
    const { owner, folder } = startOwner('postgres')
    const port = await portFrom(owner)
    expect(await isListening(port)).toBe(true)
    owner.kill('SIGKILL')
    await nothingIsLeft(folder, port)
  })

  it('when that is killed while the data directory is being made', async () => {
    const { owner, folder } = startOwner('postgres')
    await vi.waitFor(() => expect(readdirSync(folder)).not.toEqual([]), patiently)
    owner.kill('SIGKILL')
    await nothingIsLeft(folder)
  })
})

/** Everything the owner's servers write goes to a folder of this test, so what stays is seen. */
function startOwner(...args: string[]): { owner: Owner; folder: string } {
  const folder = throwAwayFolder()
  const owner = spawn(process.execPath, [ownerFile, ...args], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  onTestFinished(() => void owner.kill('SIGKILL'))
  return { owner, folder }
}

async function portFrom(owner: Owner): Promise<number> {
  const [line] = await once(owner.stdout, 'data')
  return Number(line)
}

async function nothingIsLeft(folder: string, port?: number): Promise<void> {
  await vi.waitFor(async () => {
    expect(readdirSync(folder)).toEqual([])
    expect(processesNaming(folder)).toEqual([])
    if (port !== undefined) expect(await isListening(port)).toBe(false)
  }, patiently)
}
