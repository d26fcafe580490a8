/** Ways for this folder's tests to look at a server from outside, without a driver. */

import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import { freePort } from './free-port.ts'
import type { PostgresServer } from './postgres.ts'

const run = promisify(execFile)

export async function sql({ binDir, url }: PostgresServer, statement: string): Promise<string> {
  const { stdout } = await run(join(binDir, 'psql'), ['-XAtq', url, '-c', statement])
  return stdout.trim()
}

/** Sends one inline command and gives back the first piece of the answer, which holds all of a short one. */
export async function resp(port: number, command: string): Promise<string> {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8')
  socket.write(`${command}\r\n`)
  const [answer] = await once(socket, 'data')
  socket.destroy()
  return answer.trim()
}

export async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/** A port that somebody else holds until the test ends. */
export async function takenPort(): Promise<number> {
  const port = await freePort()
  const holder = createServer().listen(port, '127.0.0.1')
  await once(holder, 'listening')
  onTestFinished(() => void holder.close())
  return port
}

/** Ids of living processes with this text in their command line; none where there is no /proc. */
export function processesNaming(text: string): string[] {
  if (!existsSync('/proc')) return []
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => commandLine(pid).includes(text))
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}
