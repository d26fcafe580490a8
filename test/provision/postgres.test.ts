import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { fakePrograms } from './fake-programs.ts'
import { freePort } from './free-port.ts'
import { startPostgres } from './postgres.ts'
import { isListening, processesNaming, sql, takenPort } from './probe.ts'
import { usePostgres } from './use-server.ts'

describe('a private PostgreSQL', () => {
  const postgres = usePostgres()

  it('answers a query on its own port, in UTF-8', async () => {
    expect(await sql(postgres, 'show port')).toBe(String(postgres.port))
    expect(await sql(postgres, 'show server_encoding')).toBe('UTF8')
  })

  it('listens on loopback alone and keeps its socket in its own directory', async () => {
    expect(await sql(postgres, 'show listen_addresses')).toBe('127.0.0.1')
    expect(await sql(postgres, 'show unix_socket_directories')).toBe(postgres.directory)
  })

  it('keeps what was committed through an orderly restart and through a kill', async () => {
    await sql(postgres, 'create table kept (n int)')
    await sql(postgres, 'insert into kept values (1)')
    await postgres.restart()
    await sql(postgres, 'insert into kept values (2)')
    await postgres.kill()
    expect(await isListening(postgres.port)).toBe(false)
    await postgres.restart()
    expect(await sql(postgres, 'select sum(n) from kept')).toBe('3')
  })

  it('does not see the tables of another one beside it', async () => {
    const other = await startPostgres()
    try {
      await sql(postgres, 'create table mine ()')
      await expect(sql(other, 'select from mine')).rejects.toThrow('"mine" does not exist')
    } finally {
      await other.stop()
    }
  })

  it('takes another port when the first was lost to somebody quicker', async () => {
    const choices = [await takenPort(), await freePort()]
    const lucky = choices[1]
    const server = await startPostgres({ choosePort: async () => choices.shift() ?? 0 })
    try {
      expect(server.port).toBe(lucky)
      expect(await sql(server, 'select 1')).toBe('1')
    } finally {
      await server.stop()
    }
  })

  it('leaves neither server nor data after stop, also when it was killed first', async () => {
    const server = await startPostgres()
    await server.kill()
    await server.stop()
    expect(await isListening(server.port)).toBe(false)
    expect(existsSync(server.directory)).toBe(false)
    expect(processesNaming(server.directory)).toEqual([])
  })
})

describe('a PostgreSQL that does not start', () => {
  it('shows its last words', async () => {
    const binDir = fakePrograms({ initdb: 'exit 0', postgres: 'echo "FATAL: planted" >&2; exit 3' })
    await expect(startPostgres({ binDir })).rejects.toThrow(/exit code 3\nFATAL: planted/)
  })

  it('shows the last words of a failed preparation, and is not tried after it', async () => {
    const binDir = fakePrograms({
      initdb: 'echo "no space"; exit 1',
      postgres: 'echo tried; exit 9',
    })
    await expect(startPostgres({ binDir })).rejects.toThrow(/initdb: exit code 1\nno space$/)
  })

  it('is named when its program is missing', async () => {
    const binDir = fakePrograms({})
    await expect(startPostgres({ binDir })).rejects.toThrow(/initdb ENOENT/)
  })
})
