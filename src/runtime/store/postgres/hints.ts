/**
 * Word between nodes that there may be something to do. Hints are never needed: everything is found
 * by polling too, later. So they are sent outside transactions, at most one of a kind per
 * `QUIET_MS` and process (NOTIFY takes a lock that all committers of a server share), and a lost
 * one is not sent again.
 */
import { Client } from 'pg'
import type { Cancel, Clock } from '../../../actors/ports.ts'
import { connectionConfig, type Database, type DatabaseOptions } from './database.ts'

export type Hint = 'jobs' | 'cancel'
export type HintListener = (hint: Hint) => void

export interface Announcer {
  announce(hint: Hint): void
}

export interface Hints extends Announcer {
  onHint(listener: HintListener): () => void
  close(): Promise<void>
}

const QUIET_MS = 10
const RECONNECT_MS = 500
// A connection that died without a word is noticed by asking it.
const ASK_EVERY_MS = 10_000

export function openHints(database: Database, options: DatabaseOptions, clock: Clock): Hints {
  const listeners = new Set<HintListener>()
  const channel = `${database.schema}_hint`
  const quiet = new Map<Hint, { cancel: Cancel; isAskedAgain: boolean }>()
  let ear: Ear | undefined

  function tell(hint: Hint): void {
    for (const listener of listeners) listener(hint)
  }

  /** The first goes at once; those that follow within the quiet time go together at its end. */
  function announce(hint: Hint): void {
    const pending = quiet.get(hint)
    if (pending) {
      pending.isAskedAgain = true
      return
    }
    const cancel = clock.wakeAt(clock.now() + QUIET_MS, () => {
      const isAskedAgain = quiet.get(hint)?.isAskedAgain
      quiet.delete(hint)
      if (isAskedAgain) announce(hint)
    })
    quiet.set(hint, { cancel, isAskedAgain: false })
    send(hint)
  }

  function send(hint: Hint): void {
    if (options.isPollOnly) tell(hint)
    else database.query('SELECT pg_notify($1, $2)', [channel, hint]).catch(() => undefined)
  }

  return {
    announce,
    onHint(listener) {
      listeners.add(listener)
      if (!options.isPollOnly) ear ??= listen(channel, options, clock, tell)
      return () => void listeners.delete(listener)
    },
    async close() {
      listeners.clear()
      for (const { cancel } of quiet.values()) cancel()
      await ear?.close()
    },
  }
}

interface Ear {
  close(): Promise<void>
}

/**
 * One connection of its own, made again whenever it is lost. With each connection listeners are told
 * both hints: something may have been said while nobody listened.
 */
function listen(
  channel: string,
  options: DatabaseOptions,
  clock: Clock,
  tell: (hint: Hint) => void,
): Ear {
  let isClosed = false
  let client: Client | undefined
  let cancelTimer: Cancel | undefined

  function later(ms: number, work: () => Promise<void>): void {
    cancelTimer?.()
    if (!isClosed) cancelTimer = clock.wakeAt(clock.now() + ms, () => void work())
  }

  async function connect(): Promise<void> {
    const fresh = new Client(connectionConfig(options))
    client = fresh
    fresh.on('error', () => undefined)
    fresh.on('end', () => fresh === client && later(RECONNECT_MS, connect))
    fresh.on('notification', ({ payload }) => {
      if (payload === 'jobs' || payload === 'cancel') tell(payload)
    })
    try {
      await fresh.connect()
      await fresh.query(`LISTEN ${channel}`)
    } catch {
      return abandon(fresh)
    }
    tell('jobs')
    tell('cancel')
    later(ASK_EVERY_MS, ask)
  }

  async function ask(): Promise<void> {
    const asked = client
    if (!asked) return
    try {
      await asked.query('SELECT')
      if (asked === client) later(ASK_EVERY_MS, ask)
    } catch {
      abandon(asked)
    }
  }

  function abandon(lost: Client): void {
    if (lost !== client) return
    client = undefined
    lost.end().catch(() => undefined)
    later(RECONNECT_MS, connect)
  }

  void connect()
  return {
    async close() {
      isClosed = true
      cancelTimer?.()
      const last = client
      client = undefined
      await last?.end().catch(() => undefined)
    },
  }
}
