/**
 * Runs one server for a test process, in a process of its own, and promises: when the channel to
 * that test process closes, the server is stopped and its directory removed. A channel closes
 * however its owner ends (return, signal, uncaught error, SIGKILL), so a clean end and a violent
 * one take the same road.
 *
 * Started by `guarded-server.ts`, detached: a Ctrl-C meant for the tests must not reach it halfway.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { chownSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'

export type Command = { readonly program: string; readonly args: readonly string[] }

export type Plan = {
  /** Created by the guardian and removed by it; it must not exist yet. */
  readonly directory: string
  /** Owner of the directory and of every process; null means the caller's own user. */
  readonly user: { readonly uid: number; readonly gid: number } | null
  /** Run to their end, in order, before the server is started for the first time. */
  readonly prepare: readonly Command[]
  readonly serve: Command
  /** Printed by the server, on either stream, once it accepts connections. */
  readonly readyText: string
  readonly stopSignal: NodeJS.Signals
  readonly startWithinMs: number
  readonly stopWithinMs: number
}

export type Order = 'restart' | 'kill'

/** One report answers the start, then one answers each order. */
export type Report =
  | { readonly outcome: 'done' }
  | { readonly outcome: 'failed'; readonly reason: string }

type Running = {
  readonly child: ChildProcess
  readonly ready: Promise<'ready'>
  /** Settles when the process and everything that inherited its output is gone. */
  readonly ended: Promise<Ending>
  logTail(): string
}
type Ending = { readonly success: boolean; readonly text: string }

const LOG_CHARS_MAX = 4_000

const plan: Plan = JSON.parse(process.argv[2] ?? '')
let current: Running | undefined
let closing: Promise<void> | undefined

process.once('disconnect', close)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, close)
process.once('uncaughtException', close)

let orders = report(start)
process.on('message', (order: Order) => {
  orders = orders.then(() => report(order === 'kill' ? kill : restart))
})

async function report(work: () => Promise<void>): Promise<void> {
  const answer: Report = await work().then(
    () => ({ outcome: 'done' }),
    (error) => ({ outcome: 'failed', reason: error.message }),
  )
  if (process.connected) process.send?.(answer)
}

async function start(): Promise<void> {
  mkdirSync(plan.directory, { mode: 0o700 })
  if (plan.user) chownSync(plan.directory, plan.user.uid, plan.user.gid)
  for (const command of plan.prepare) await runToItsEnd(command)
  await serve()
}

async function restart(): Promise<void> {
  if (current) await end(current, plan.stopSignal)
  await serve()
}

async function kill(): Promise<void> {
  if (current) await end(current, 'SIGKILL')
}

async function runToItsEnd(command: Command): Promise<void> {
  const running = launch(command)
  const ending = await Promise.race([running.ended, late(plan.startWithinMs)])
  if (ending === 'late' || !ending.success) throw failure(command, running, ending)
}

async function serve(): Promise<void> {
  const running = launch(plan.serve)
  const outcome = await Promise.race([running.ready, running.ended, late(plan.startWithinMs)])
  if (outcome !== 'ready') throw failure(plan.serve, running, outcome)
}

function launch({ program, args }: Command): Running {
  if (closing) throw new Error('the test process is gone')
  const child = spawn(program, args, {
    cwd: plan.directory,
    env: serverEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
    ...plan.user,
  })
  let log = ''
  const ready = new Promise<'ready'>((resolve) => {
    const read = (chunk: string) => {
      log += chunk
      if (log.includes(plan.readyText)) resolve('ready')
      log = log.slice(-LOG_CHARS_MAX)
    }
    child.stdout.setEncoding('utf8').on('data', read)
    child.stderr.setEncoding('utf8').on('data', read)
  })
  const ended = new Promise<Ending>((resolve) => {
    child.once('error', (error) => resolve({ success: false, text: error.message }))
    child.once('close', (code, signal) =>
      resolve({ success: code === 0, text: signal ? `ended by ${signal}` : `exit code ${code}` }),
    )
  })
  current = { child, ready, ended, logTail: () => log.trim() }
  return current
}

async function end(running: Running, signal: NodeJS.Signals): Promise<void> {
  if (signal === 'SIGKILL') killWithDescendants(running.child)
  else running.child.kill(signal)
  if ((await Promise.race([running.ended, late(plan.stopWithinMs)])) !== 'late') return
  killWithDescendants(running.child)
  await running.ended
}

/** PostgreSQL gives each backend a session of its own, so killing a process group would miss them. */
function killWithDescendants({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return
  for (const victim of [pid, ...descendants(pid)]) {
    try {
      process.kill(victim, 'SIGKILL')
    } catch {
      // Gone between the look and the signal.
    }
  }
}

/** Empty where there is no /proc; PostgreSQL's backends then notice the loss by themselves. */
function descendants(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    return children
      .split(' ')
      .filter(Boolean)
      .map(Number)
      .flatMap((child) => [child, ...descendants(child)])
  } catch {
    return []
  }
}

function close(): void {
  closing ??= cleanUp().then(
    () => process.exit(0),
    () => process.exit(1),
  )
}

async function cleanUp(): Promise<void> {
  if (current) await end(current, plan.stopSignal)
  rmSync(plan.directory, { recursive: true, force: true, maxRetries: 10 })
}

/** Settings for somebody else's server (PGPORT, PGOPTIONS, …) must not leak into this one. */
function serverEnvironment(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^(PG|REDIS)/.test(name))
  return { ...Object.fromEntries(own), LC_ALL: 'C' }
}

function late(afterMs: number): Promise<'late'> {
  return setTimeout(afterMs, 'late', { ref: false })
}

function failure(command: Command, running: Running, ending: Ending | 'late'): Error {
  const what = ending === 'late' ? `not ready after ${plan.startWithinMs} ms` : ending.text
  return new Error(`${command.program}: ${what}\n${running.logTail()}`)
}
