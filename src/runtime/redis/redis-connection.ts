/**
 * The connection to Redis, for everything that is kept there.
 *
 * What it promises
 * - Opening it does not wait for Redis: a Redis that is away costs convenience, never a job. The
 *   connection is made, and made again, for as long as it is open.
 * - Every call settles within `commandTimeoutMs`, whatever the network does; while Redis is known to
 *   be away, at once.
 * - No command is sent twice. One whose answer was lost is reported as failed although it may have
 *   been applied, so whoever sends one must be able to bear that.
 */
import { Redis, type RedisOptions } from 'ioredis'
import { type RedisAddress, redisAddress } from './redis-address.ts'
import { adviceOn, troubleWith } from './redis-trouble.ts'

export interface RedisLimits {
  readonly connectTimeoutMs: number
  /** From sending a command to its answer; a silent connection is given up and made anew. */
  readonly commandTimeoutMs: number
  /** Between two attempts to connect. */
  readonly reconnectDelayMsMax: number
  /** Commands in one piece of a group: a piece is put together in memory before it is sent. */
  readonly pipelineCommandsMax: number
}

export const REDIS_LIMITS: RedisLimits = {
  connectTimeoutMs: 2_000,
  commandTimeoutMs: 2_000,
  reconnectDelayMsMax: 2_000,
  pipelineCommandsMax: 1_000,
}

const RECONNECT_DELAY_MS_MIN = 50
// How long a connection may take to say goodbye, and a closed one hold up the end of the process.
const GOODBYE_MS_MAX = 200

const CLOSED = 'this process has closed the connection.'

export type RedisCommand = [name: string, ...args: (string | number)[]]

/** `trouble`: why it is not connected, for people. */
export type ChangeListener = (isConnected: boolean, trouble: string | undefined) => void

export interface RedisConnection {
  readonly isConnected: boolean
  /** Tells of every change, also of one reason to another; hints, and none after `close`. */
  onChange(listener: ChangeListener): () => void
  /**
   * Sends the commands together; they are carried out in their order. Answers with every answer, or
   * rejects with a `RedisTrouble` if a single one failed, whatever became of the others.
   */
  execute(commands: readonly RedisCommand[]): Promise<readonly unknown[]>
  /** Waits for what is under way, within the limits above, and ends the connection for good. */
  close(): Promise<void>
}

/** Throws only when the address itself cannot be used. */
export function openRedis(url: string, options: Partial<RedisLimits> = {}): RedisConnection {
  const limits = { ...REDIS_LIMITS, ...options }
  const address = redisAddress(url)
  const client = new Redis(driverOptions(address, limits))
  const listeners = new Set<ChangeListener>()
  let trouble: string | undefined = 'the first connection is still being made.'
  /** Of the connection that is there or being made: the first reason is the cause of the others. */
  let reason: string | undefined

  const become = (next: string | undefined) => {
    if (next === trouble || trouble === CLOSED) return
    trouble = next
    for (const listener of listeners) listener(next === undefined, next)
  }
  // Without a listener for errors the driver writes them, password included, to the console.
  client.on('error', (error: Error) => {
    reason ??= adviceOn(error)
    // The driver would go on in database 0.
    if (error.message.startsWith('ERR DB index')) client.disconnect(true)
  })
  client.on('close', () => become(reason ?? adviceOn(new Error('Connection is closed.'))))
  client.on('connecting', () => {
    reason = undefined
  })
  client.on('ready', () => become(undefined))

  return {
    get isConnected() {
      return trouble === undefined
    },
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    async execute(commands) {
      if (trouble !== undefined) throw troubleWith(address.name, trouble)
      const pieces = piecesOf(commands, limits.pipelineCommandsMax)
      // All pieces are sent before the first is answered: one time limit holds for the whole.
      const answers = await Promise.all(pieces.map((piece) => client.pipeline(piece).exec()))
      return answers
        .flatMap((piece) => piece ?? [])
        .map(([error, answer]) => {
          if (!error) return answer
          // The primary may have moved to another host under the same name.
          if (error.message.startsWith('READONLY')) client.disconnect(true)
          throw troubleWith(address.name, adviceOn(error))
        })
    },
    async close() {
      listeners.clear()
      const wasConnected = trouble === undefined
      become(CLOSED)
      if (wasConnected) await client.quit().catch(() => {})
      // The driver tells of no end when it is closed between two attempts, so none is waited for.
      client.disconnect()
    },
  }
}

function driverOptions(address: RedisAddress, limits: RedisLimits) {
  return {
    host: address.host,
    port: address.port,
    db: address.database,
    username: address.username,
    password: address.password,
    ...(address.isEncrypted ? { tls: {} } : {}),
    connectionName: 'decorum',
    // Together: a command is sent once, and fails as soon as its connection breaks.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: limits.connectTimeoutMs,
    commandTimeout: limits.commandTimeoutMs,
    // A connection that has silently died would otherwise stay for as long as TCP hopes: minutes.
    socketTimeout: limits.commandTimeoutMs,
    retryStrategy: (attempt: number) =>
      Math.min(RECONNECT_DELAY_MS_MIN * 2 ** (attempt - 1), limits.reconnectDelayMsMax),
    maxLoadingRetryTime: limits.reconnectDelayMsMax,
    disconnectTimeout: GOODBYE_MS_MAX,
  } satisfies RedisOptions
}

function piecesOf(commands: readonly RedisCommand[], commandsMax: number): RedisCommand[][] {
  const pieces: RedisCommand[][] = []
  for (let from = 0; from < commands.length; from += commandsMax)
    pieces.push(commands.slice(from, from + commandsMax))
  return pieces
}
