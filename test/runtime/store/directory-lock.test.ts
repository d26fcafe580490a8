import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { lockDirectory } from '../../../src/runtime/store/directory-lock.ts'
import { StoreRefused } from '../../../src/runtime/store/job-store.ts'

const modulePath = new URL('../../../src/runtime/store/directory-lock.ts', import.meta.url).href

let folder: string
let path: string
let children: ChildProcess[]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'decorum-lock-'))
  path = join(folder, 'data')
  children = []
})
afterEach(() => {
  for (const child of children) child.kill('SIGKILL')
  rmSync(folder, { recursive: true })
})

/** Another process that has locked the directory, and lives until it is killed. */
async function holdElsewhere(): Promise<ChildProcess> {
  const program = `
    const { lockDirectory } = await import(${JSON.stringify(modulePath)})
    globalThis.lock = lockDirectory(${JSON.stringify(path)})
    process.stdout.write('locked')
    process.stdin.resume()`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  children.push(child)
  await once(child.stdout, 'data')
  return child
}

describe('a data directory', () => {
  it('is made when it is missing, and is free again after release', () => {
    const lock = lockDirectory(path)
    expect(existsSync(path)).toBe(true)
    lock.release()
    lock.release()
    lockDirectory(path).release()
  })

  it('is refused to a second one in the same process', () => {
    const lock = lockDirectory(path, { now: () => Date.UTC(2030, 0, 1) })
    expect(() => lockDirectory(path)).toThrow(StoreRefused)
    expect(() => lockDirectory(path)).toThrow(
      `The data directory '${path}' is in use by process ${process.pid} (since 2030-01-01T00:00:00.000Z): stop that process, or set DECORUM_DATA to another directory.`,
    )
    lock.release()
  })

  it('is refused while another process has it, and free the moment that one is killed', async () => {
    const other = await holdElsewhere()
    expect(() => lockDirectory(path)).toThrow(`is in use by process ${other.pid}`)
    // A refused attempt must not have given the lock away.
    expect(() => lockDirectory(path)).toThrow(`is in use by process ${other.pid}`)
    other.kill('SIGKILL')
    await once(other, 'exit')
    const lock = lockDirectory(path)
    expect(() => lockDirectory(path)).toThrow(`is in use by process ${process.pid}`)
    lock.release()
  })

  it('is still refused when nobody knows by whom', async () => {
    await holdElsewhere()
    rmSync(join(path, 'decorum.pid'))
    expect(() => lockDirectory(path)).toThrow('is in use by another process')
  })
})

describe('a directory that cannot be used is named, with what to do', () => {
  it('when a file is in its place', () => {
    writeFileSync(path, '')
    expect(() => lockDirectory(path)).toThrow(StoreRefused)
    expect(() => lockDirectory(path)).toThrow(`The data directory '${path}' cannot be used`)
    expect(() => lockDirectory(join(path, 'below'))).toThrow(
      'set DECORUM_DATA to another directory',
    )
  })
})
