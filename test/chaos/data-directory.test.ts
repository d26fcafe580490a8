import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { StoreRefused } from '../../src/runtime/store/job-store.ts'
import { unprivilegedUser } from '../provision/unprivileged-user.ts'
import { entriesOf } from './history.ts'
import { onServers, onSqlite } from './places.ts'
import { several } from './scene.ts'

const run = promisify(execFile)
const source = fileURLToPath(new URL('../../src/runtime/create-runtime.ts', import.meta.url))

describe('a disk that is full', () => {
  it('refuses jobs and says why; what was accepted is finished once there is room', async (test) => {
    const scene = await onSqlite.scene(test)
    const node = scene.start('a', { submissions: several(5, 'held') })
    await scene.until(() => scene.calls()['held run'] === 5)
    node.tell({ order: 'limit', pages: 30 })
    const body = { filling: 'x'.repeat(4_000) }
    node.tell({ order: 'submit', submissions: several(150, 'plain', body) })
    const refusal = await node.writes('refused')
    expect(refusal).toMatchObject({ code: 'disk.full' })
    expect(refusal.message).toContain('Make room; nothing accepted is lost.')

    node.tell({ order: 'release' })
    node.tell({ order: 'limit', pages: 10_000 })
    node.tell({ order: 'submit', submissions: several(3, 'checkpoints') })
    await node.writes('accepted', ({ key }) => key === 'checkpoints 2')
    await node.writes('idle')
    await node.stop()
    const jobs = await scene.verdict()
    expect(new Set(jobs.map(({ state }) => state))).toEqual(new Set(['done']))
    expect(jobs).toHaveLength(entriesOf(scene.history, 'accepted').length)
    expect(scene.calls()).toMatchObject({ 'held run': 5, 'checkpoints run': 3 })
  })

  it('keeps results waiting, and they are written once there is room', async (test) => {
    const scene = await onSqlite.scene(test)
    const node = scene.start('a', { submissions: several(20, 'held', 'x'.repeat(3_000)) })
    await scene.until(() => scene.calls()['held run'] === 20)
    node.tell({ order: 'limit', pages: 0 })
    node.tell({ order: 'submit', submissions: several(25, 'plain', 'x'.repeat(4_000)) })
    await node.writes('refused')
    node.tell({ order: 'release' })
    await node.writes(
      'told',
      ({ event, about }) =>
        event === 'duty.failed' && about.includes('settler') && about.includes('the disk is full'),
    )
    node.tell({ order: 'limit', pages: 10_000 })
    await node.writes('idle')
    await node.stop()
    expect(await scene.verdict()).toHaveLength(20)
    expect(scene.calls()).toEqual({ 'held run': 20 })
  })
})

describe('a data directory', () => {
  it('is used by one process: the second is told by whom, and what to do', async (test) => {
    const scene = await onSqlite.scene(test)
    const first = scene.start('a', { submissions: several(1, 'held') })
    await first.writes('called')
    const second = scene.start('a')
    const { name, message } = await second.writes('failed')
    expect(await second.over).toBe(1)
    expect({ name, message }).toMatchObject({ name: 'Error' })
    expect(message).toMatch(/is in use by process \d+ .*: stop that process, or set DECORUM_DATA/)
    // The first one has not noticed, and its directory is free as soon as it is dead.
    first.signal('SIGKILL')
    await first.over
    const third = scene.start('a')
    third.tell({ order: 'release' })
    await third.writes('idle')
    await third.stop()
    expect(await scene.verdict()).toHaveLength(1)
  })

  it('that is missing is made', async () => {
    const runtime = await createRuntime({ data: join(folder(), 'not', 'yet', 'there') })
    await runtime.start()
    await runtime.stop()
  })

  it('that cannot be made is refused, with what to do', async () => {
    const file = join(folder(), 'file')
    writeFileSync(file, '')
    const made = createRuntime({ data: join(file, 'data') })
    await expect(made).rejects.toThrow(StoreRefused)
    await expect(made).rejects.toThrow(/cannot be used .*make it writable .*DECORUM_DATA/)
  })

  it('that cannot be written is refused, with what to do', async () => {
    const data = join(folder(), 'data')
    mkdirSync(data)
    chmodSync(data, 0o555)
    // Root may write everywhere, so somebody else tries.
    const script = `const { createRuntime } = await import(${JSON.stringify(source)})
      await createRuntime({ data: ${JSON.stringify(data)} }).catch((error) => console.log(error.message))`
    const { stdout } = await run(
      process.execPath,
      ['--input-type=module', '-e', script],
      unprivilegedUser() ?? {},
    )
    expect(stdout).toMatch(/cannot be used .*make it writable .*DECORUM_DATA/)
  })

  it('is free again after a refusal', async () => {
    const data = folder()
    mkdirSync(join(data, 'decorum.db'))
    await expect(createRuntime({ data })).rejects.toThrow(StoreRefused)
    rmSync(join(data, 'decorum.db'), { recursive: true })
    await (await createRuntime({ data })).stop()
  })
})

describe('a database of a newer Decorum', () => {
  const servers = onServers()

  for (const theatre of [onSqlite, servers])
    it(`is refused on ${theatre.name}, and left as it is`, async (test) => {
      const scene = await theatre.scene(test)
      await scene.visit(async () => {})
      await scene.asStranger([
        `INSERT INTO migrations (version, name, checksum, applied_at) VALUES (99, 'later', 'x', 0)`,
      ])
      const node = scene.start('a')
      const { message } = await node.writes('failed')
      expect(message).toMatch(/schema version 2.* knows only 1: start the newer Decorum/)
      expect(await node.over).toBe(1)
    })
})

it('a node that was told to stop leaves nothing behind that keeps its process alive', async (test) => {
  const scene = await onSqlite.scene(test)
  // A timer of the lease that is left behind would hold it up for hours.
  const node = scene.start('a', {
    limits: { leaseMs: 36_000_000 },
    submissions: several(3, 'plain'),
  })
  await node.writes('idle')
  await node.stop()
  expect(await node.over).toBe(0)
})

it('a node that is told to stop while it starts is gone as well', async () => {
  const script = `const { createRuntime } = await import(${JSON.stringify(source)})
    const runtime = await createRuntime({ data: ${JSON.stringify(folder())} })
    const started = runtime.start()
    await runtime.stop()
    await started`
  await run(process.execPath, ['--input-type=module', '-e', script])
})

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'decorum-chaos-'))
  chmodSync(path, 0o777)
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}
