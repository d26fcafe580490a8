import type { FastifyInstance } from 'fastify'
import type { Runtime } from '../runtime/runtime.ts'
import { finalStates } from '../runtime/store/job-store.ts'
import type { EventFeed } from './event-feed.ts'
import { eventFrame } from './event-stream.ts'
import { unknownJob } from './job-routes.ts'

export interface EventSlice {
  readonly feed: EventFeed
  readonly jobs: Pick<Runtime, 'get'>
}

interface ById {
  Params: { readonly id: string }
}

/** A stream is nothing without its content. */
const options = { exposeHeadRoute: false }

export function eventRoutes(app: FastifyInstance, { feed, jobs }: EventSlice): void {
  app.get('/v1/events', options, async (_request, reply) => {
    feed.assertRoom()
    reply.hijack()
    feed.follow(reply.raw)
  })

  /** The job as it is, as the event `job`, then what happens to it on this node. */
  app.get<ById>('/v1/jobs/:id/events', options, async ({ params: { id } }, reply) => {
    if (!(await jobs.get(id))) throw unknownJob(id)
    feed.assertRoom()
    reply.hijack()
    const stream = feed.follow(reply.raw, id)
    // Looks again now that it listens: whatever happened in between is in one of the two.
    const job = await jobs.get(id).catch(() => undefined)
    if (job) stream.write(eventFrame('job', job))
    if (!job || finalStates.some((state) => state === job.state)) stream.end()
  })
}
