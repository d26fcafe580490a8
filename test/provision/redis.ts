import { redisBinary } from './binaries.ts'
import { onFreePort } from './free-port.ts'
import { type GuardedServer, startGuarded, throwAwayDirectory } from './guarded-server.ts'
import { type Machine, thisMachine } from './machine.ts'
import { unprivilegedUser } from './unprivileged-user.ts'

/** A private Redis: loopback only, in memory only (a restart begins empty), gone with this process. */
export type RedisServer = GuardedServer & { readonly url: string; readonly port: number }

export type RedisOptions = {
  /** The program itself; without it the machine is searched, and the package installed if need be. */
  readonly binary?: string
  /** Added to, or replacing, the settings below. */
  readonly settings?: Readonly<Record<string, string>>
  readonly machine?: Machine
  readonly choosePort?: () => Promise<number>
}

const throwAwaySettings = { bind: '127.0.0.1', save: '', appendonly: 'no' }

/** Rejects with `ServerUnavailable` where no Redis can be had. */
export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const binary = options.binary ?? (await redisBinary(options.machine ?? thisMachine()))
  return onFreePort((port) => startOn(port, binary, options.settings ?? {}), options.choosePort)
}

async function startOn(
  port: number,
  binary: string,
  extraSettings: Readonly<Record<string, string>>,
): Promise<RedisServer> {
  const directory = throwAwayDirectory('redis')
  const settings = { ...throwAwaySettings, port: String(port), dir: directory, ...extraSettings }
  const server = await startGuarded(directory, {
    user: unprivilegedUser(),
    prepare: [],
    serve: {
      program: binary,
      args: Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]),
    },
    readyText: 'eady to accept connections',
    stopSignal: 'SIGTERM',
  })
  return { ...server, url: `redis://127.0.0.1:${port}`, port }
}
