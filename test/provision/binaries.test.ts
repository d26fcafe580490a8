import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { postgresBinaries, redisBinary } from './binaries.ts'
import { fakePrograms, throwAwayFolder } from './fake-programs.ts'
import type { Machine } from './machine.ts'
import { ServerUnavailable } from './server-unavailable.ts'

describe('the PostgreSQL that is used', () => {
  it('is the newest of all versions on the machine, on the PATH or not', async () => {
    const [old, newest] = [postgres('14.9'), postgres('17.2')]
    expect(
      await postgresBinaries({ ...bare(), path: [old], postgresRoot: root(newest) }),
    ).toContain('/0/bin')
    expect(await postgresBinaries({ ...bare(), path: [newest], postgresRoot: root(old) })).toBe(
      newest,
    )
  })

  it('is found where pg_config points', async () => {
    const folder = postgres('16.1')
    const path = [fakePrograms({ pg_config: `echo ${folder}` })]
    expect(await postgresBinaries({ ...bare(), path })).toBe(folder)
  })

  it('is never older than 14, incomplete or broken', async () => {
    const broken = fakePrograms({ postgres: 'exit 1', initdb: '', psql: '', pg_config: 'exit 1' })
    const incomplete = fakePrograms({ postgres: 'echo "postgres (PostgreSQL) 18.0"' })
    for (const unfit of [postgres('13.14'), incomplete, broken]) {
      await expect(postgresBinaries({ ...bare(), path: [unfit] })).rejects.toThrow(
        ServerUnavailable,
      )
    }
  })

  function postgres(version: string): string {
    const answer = `echo "postgres (PostgreSQL) ${version} (Debian)"`
    return fakePrograms({ postgres: answer, initdb: '', psql: '' })
  }

  /** As Debian lays it out: a folder per version, and in it the programs. */
  function root(...folders: string[]): string {
    const top = throwAwayFolder()
    folders.forEach((folder, index) => {
      mkdirSync(join(top, String(index)))
      symlinkSync(folder, join(top, String(index), 'bin'))
    })
    return top
  }
})

describe('a program that is missing', () => {
  it('is installed once and then found', async () => {
    const folder = throwAwayFolder()
    const asked: string[] = []
    const machine: Machine = {
      ...bare(),
      path: [folder],
      async install(name) {
        asked.push(name)
        symlinkSync('/bin/true', join(folder, 'redis-server'))
      },
    }
    expect(await redisBinary(machine)).toBe(join(folder, 'redis-server'))
    expect(await redisBinary(machine)).toBe(join(folder, 'redis-server'))
    expect(asked).toEqual(['redis-server'])
  })

  it('is unavailable, with the reason, when it cannot be installed', async () => {
    const found = redisBinary(bare())
    await expect(found).rejects.toThrow(ServerUnavailable)
    await expect(found).rejects.toThrow('no packages here')
  })

  it('is unavailable when its package does not bring it', async () => {
    const machine = { ...bare(), install: async () => undefined }
    await expect(redisBinary(machine)).rejects.toThrow('redis-server was installed, but brought no')
  })
})

function bare(): Machine {
  return {
    path: [],
    postgresRoot: '/nowhere',
    install: () => Promise.reject(new ServerUnavailable('no packages here')),
  }
}
