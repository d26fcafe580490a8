import { join } from 'node:path'
import { postgresBinaries } from './binaries.ts'
import { onFreePort } from './free-port.ts'
import { type GuardedServer, startGuarded, throwAwayDirectory } from './guarded-server.ts'
import { type Machine, thisMachine } from './machine.ts'
import { unprivilegedUser } from './unprivileged-user.ts'

/** A private PostgreSQL: superuser `postgres`, loopback only, gone with this process. */
export type PostgresServer = GuardedServer & {
  readonly url: string
  readonly port: number
  /** Holds `psql` and its companions, of the server's own version. */
  readonly binDir: string
}

export type PostgresOptions = {
  /** Used as it is; without it the machine is searched, and the package installed if need be. */
  readonly binDir?: string
  /** Added to, or replacing, the settings below. */
  readonly settings?: Readonly<Record<string, string>>
  readonly machine?: Machine
  readonly choosePort?: () => Promise<number>
}

// Speed where it costs no truth: without fsync data still survives the death of every process,
// which is all a test can bring about.
const throwAwaySettings = {
  fsync: 'off',
  full_page_writes: 'off',
  listen_addresses: '127.0.0.1',
  max_connections: '100',
  shared_buffers: '16MB',
  // In a file of the data directory, so that a killed server leaves none in /dev/shm.
  dynamic_shared_memory_type: 'mmap',
}

/** Rejects with `ServerUnavailable` where no PostgreSQL can be had. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const binDir = options.binDir ?? (await postgresBinaries(options.machine ?? thisMachine()))
  return onFreePort((port) => startOn(port, binDir, options.settings ?? {}), options.choosePort)
}

async function startOn(
  port: number,
  binDir: string,
  extraSettings: Readonly<Record<string, string>>,
): Promise<PostgresServer> {
  const directory = throwAwayDirectory('postgres')
  const data = join(directory, 'data')
  const settings = {
    ...throwAwaySettings,
    port: String(port),
    unix_socket_directories: directory,
    ...extraSettings,
  }
  const server = await startGuarded(directory, {
    user: unprivilegedUser(),
    prepare: [
      {
        program: join(binDir, 'initdb'),
        args: ['-D', data, '-U', 'postgres', '--auth=trust', '-E', 'UTF8', '--locale=C', '-N'],
      },
    ],
    serve: {
      program: join(binDir, 'postgres'),
      args: [
        '-D',
        data,
        ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ],
    },
    readyText: 'database system is ready to accept connections',
    // Fast shutdown: sessions are ended, committed data is kept for a restart.
    stopSignal: 'SIGINT',
  })
  return {
    ...withoutLeftovers(server),
    url: `postgresql://postgres@127.0.0.1:${port}/postgres`,
    port,
    binDir,
  }
}

/**
 * A killed PostgreSQL leaves a System V memory segment, and the kernel has only so many. The next
 * start on the same data removes it, so a killed server is started once more before it is stopped.
 */
function withoutLeftovers(server: GuardedServer): GuardedServer {
  let killed = false
  return {
    directory: server.directory,
    async kill() {
      killed = true
      await server.kill()
    },
    async restart() {
      await server.restart()
      killed = false
    },
    async stop() {
      if (killed) await server.restart().catch(() => undefined)
      await server.stop()
    },
  }
}
