import type { FastifyInstance } from 'fastify'
import { submissionLimits } from '../jobs/submission.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { ACCEPTED, Problem } from './problem.ts'
import { submissionOf } from './submission-body.ts'

export type JobSlice = Pick<Runtime, 'submit' | 'get' | 'cancel'>

interface ById {
  Params: { readonly id: string }
}

/** The job's own limit is kept by the runtime; this leaves room for spaces and escapes around it. */
const submissionBytesMax = 4 * submissionLimits.bodyBytesMax

export function jobRoutes(app: FastifyInstance, jobs: JobSlice): void {
  app.post('/v1/jobs', { bodyLimit: submissionBytesMax }, async ({ body }, reply) => {
    const { id, isNew } = await jobs.submit(submissionOf(body))
    return reply.code(ACCEPTED).header('location', jobPath(id)).send({ id, isNew })
  })

  app.get<ById>('/v1/jobs/:id', async ({ params: { id } }) => {
    const job = await jobs.get(id)
    if (!job) throw unknownJob(id)
    return job
  })

  app.post<ById>('/v1/jobs/:id/cancel', async ({ params: { id } }, reply) => {
    const verdict = await jobs.cancel(id)
    if (verdict === 'unknown') throw unknownJob(id)
    if (verdict === 'final')
      throw new Problem('job.final', `Job ${id} has ended already: see ${jobPath(id)}.`)
    return reply.code(ACCEPTED).header('location', jobPath(id)).send({ verdict })
  })
}

export function jobPath(id: string): string {
  return `/v1/jobs/${encodeURIComponent(id)}`
}

export function unknownJob(id: string): Problem {
  return new Problem(
    'job.unknown',
    `There is no job "${id}": it never was, or it ended so long ago that it has been removed.`,
  )
}
