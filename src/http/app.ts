/**
 * The service's HTTP face. It does not listen, and it decides nothing: a route reads the request,
 * makes one call and sends one view.
 */
import type { Socket } from 'node:net'
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify'
import { type EventSlice, eventRoutes } from './event-routes.ts'
import { type HealthSlice, healthRoutes } from './health-routes.ts'
import { assertOwnHost } from './host-guard.ts'
import { type JobSlice, jobRoutes } from './job-routes.ts'
import { parseJson } from './json-body.ts'
import { type MachineSlice, machineRoutes } from './machine-routes.ts'
import { pageRoutes } from './page-routes.ts'
import {
  Problem,
  problemHeaders,
  problemOf,
  problemText,
  problemType,
  rawProblem,
} from './problem.ts'
import { securityHeaders } from './security-headers.ts'
import { type StatsSlice, statsRoutes } from './stats-routes.ts'

export interface AppParts {
  readonly log: FastifyBaseLogger
  /** The host it is reached at, besides the names of the machine itself. */
  readonly host: string
  readonly health: HealthSlice
  readonly machines: MachineSlice
  readonly jobs: JobSlice
  readonly stats: StatsSlice
  readonly events: EventSlice
}

export const httpLimits = {
  bodyBytesMax: 64 * 1024,
  headerBytesMax: 16 * 1024,
  /** From a request's first byte to its last. */
  requestMsMax: 10_000,
  answerMsMax: 10_000,
  keepAliveMs: 5_000,
} as const

export function buildApp(parts: AppParts): FastifyInstance {
  const { log, host, health, machines } = parts
  const app: FastifyInstance = fastify({
    loggerInstance: log,
    bodyLimit: httpLimits.bodyBytesMax,
    requestTimeout: httpLimits.requestMsMax,
    handlerTimeout: httpLimits.answerMsMax,
    keepAliveTimeout: httpLimits.keepAliveMs,
    http: { maxHeaderSize: httpLimits.headerBytesMax },
    // Whoever still has a connection while we close is answered, and told that it ends.
    return503OnClosing: false,
    frameworkErrors: (error, _request, reply) => sendProblem(reply, error),
    clientErrorHandler: refuseConnection,
  })

  app.addHook('onRequest', async ({ headers }, reply) => {
    reply.headers(securityHeaders)
    assertOwnHost(headers, host)
  })
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser<string>(
    'application/json',
    { parseAs: 'string' },
    async (_request: FastifyRequest, text: string) => parseJson(text),
  )
  app.setErrorHandler((error, _request, reply) => sendProblem(reply, error))
  app.setNotFoundHandler(({ method, url }) => {
    throw new Problem('route.unknown', `There is no ${method} ${url}: the page at / lists what is.`)
  })

  healthRoutes(app, health)
  jobRoutes(app, parts.jobs)
  eventRoutes(app, parts.events)
  statsRoutes(app, parts.stats)
  machineRoutes(app, machines)
  pageRoutes(app, health, machines)
  return app
}

function sendProblem(reply: FastifyReply, error: unknown): FastifyReply {
  const problem = problemOf(error)
  if (problem.isOurs) reply.log.error({ err: problem.cause ?? problem }, problem.code)
  return reply
    .code(problem.status)
    .headers({ ...securityHeaders, ...problemHeaders(problem) })
    .type(problemType)
    .send(problemText(problem))
}

/** What is not even HTTP gets an answer too, and no second chance on this connection. */
function refuseConnection(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  socket.end(rawProblem(problemOf(error)))
}
