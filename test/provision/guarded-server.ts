import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Order, Plan, Report } from './guardian.ts'

/** A server that cannot outlive this process, and whose data cannot either. */
export type GuardedServer = {
  readonly directory: string
  /** Stops the server in an orderly way if it runs, and starts it again on the same data. */
  restart(): Promise<void>
  /** SIGKILL for the server and all its processes; the data stays, for a restart. */
  kill(): Promise<void>
  /** Resolves when the server, its guardian and the directory are gone. */
  stop(): Promise<void>
}

export type ServerPlan = Omit<Plan, 'directory' | 'startWithinMs' | 'stopWithinMs'>

const guardianFile = fileURLToPath(new URL('./guardian.ts', import.meta.url))

/** A path nobody uses yet. The guardian creates it, so none is left behind by a death in between. */
export function throwAwayDirectory(name: string): string {
  return join(tmpdir(), `decorum-${name}-${randomBytes(6).toString('hex')}`)
}

/** Rejects with the end of the server's log when it does not come up. */
export async function startGuarded(directory: string, plan: ServerPlan): Promise<GuardedServer> {
  const full: Plan = { ...plan, directory, startWithinMs: 45_000, stopWithinMs: 10_000 }
  const guardian = fork(guardianFile, [JSON.stringify(full)], {
    cwd: '/',
    detached: true,
    execArgv: [],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  const gone = once(guardian, 'exit')
  let stopped: Promise<void> | undefined
  let latest = attended(() => answer())

  await latest.catch(async (error) => {
    await stop()
    throw error
  })
  return { directory, restart: () => command('restart'), kill: () => command('kill'), stop }

  function command(order: Order): Promise<void> {
    const perform = () =>
      attended(() => {
        guardian.send(order)
        return answer()
      })
    latest = latest.then(perform, perform)
    return latest
  }

  async function answer(): Promise<void> {
    const [report]: Report[] = await Promise.race([once(guardian, 'message'), gone.then(lost)])
    if (report?.outcome === 'failed') throw new Error(report.reason)
  }

  function lost(): never {
    throw new Error(`the guardian of ${directory} ended before it answered`)
  }

  function stop(): Promise<void> {
    stopped ??= attended(async () => {
      if (guardian.connected) guardian.disconnect()
      const [code] = await gone
      if (code !== 0) throw new Error(`the guardian of ${directory} could not clean up`)
    })
    return stopped
  }

  /** The guardian keeps this process alive only while something is awaited from it. */
  async function attended<T>(work: () => Promise<T>): Promise<T> {
    guardian.ref()
    guardian.channel?.ref()
    try {
      return await work()
    } finally {
      guardian.unref()
      guardian.channel?.unref()
    }
  }
}
