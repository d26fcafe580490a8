/**
 * A process that owns a server and then ends, for `guardian.test.ts`.
 * Arguments: the server to start, and how to end by itself; without an ending it waits to be killed.
 */

import { startPostgres } from './postgres.ts'
import { startRedis } from './redis.ts'

const [kind, ending] = process.argv.slice(2)
const server = kind === 'postgres' ? await startPostgres() : await startRedis()
process.stdout.write(`${server.port}\n`)

if (ending === 'exit') process.exit(0)
if (ending === 'throw') throw new Error('planted')
if (ending !== 'return') setInterval(() => undefined, 60_000)
