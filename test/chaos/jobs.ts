/** The kinds of jobs that the nodes of a scenario run; well-behaved ones first. */
import {
  type AnyJob,
  defineJob,
  type JobContext,
  type JobPerformer,
} from '../../src/jobs/define-job.ts'
import type { Point } from './strike.ts'

export interface JobWorld {
  /** Writes the call down. */
  called(context: JobContext<unknown>, state: string): void
  strike(point: Point): void
  /** Resolves when the scenario says that held jobs may finish. */
  readonly released: Promise<void>
}

export const steps = ['first', 'second', 'third'] as const

/** The order of the states of each type that has several. */
export const statesOf: Readonly<Record<string, readonly string[]>> = { 'three.steps': steps }

/** `holdIn`: the state in which it waits until it is released. */
export interface StepsBody {
  readonly holdIn?: string
}

// Short, so that retries are part of a scenario instead of its length.
const backoff = { kind: 'schedule', delaysMs: [5] } as const

export function chaosJobs({ called, strike, released }: JobWorld): AnyJob[] {
  const performer =
    (state: (typeof steps)[number]): JobPerformer<StepsBody | null> =>
    async (context) => {
      called(context, state)
      if (state === 'third') strike('in third')
      if (context.body?.holdIn === state) await released
      return { by: state }
    }

  return [
    defineJob({
      type: 'plain',
      version: '1',
      async run(context) {
        called(context, 'run')
        return context.body
      },
    }),
    defineJob<StepsBody | null>({
      type: 'three.steps',
      version: '1',
      states: {
        first: { description: 'Begins.', on: { PERFORMED: 'second' } },
        second: { description: 'Goes on.', on: { PERFORMED: 'third' } },
        third: { description: 'Ends.' },
      },
      performers: {
        first: performer('first'),
        second: performer('second'),
        third: performer('third'),
      },
    }),
    defineJob({
      type: 'checkpoints',
      version: '1',
      async run(context) {
        called(context, 'run')
        if (context.checkpointed === undefined) await context.checkpoint({ page: 7 })
        strike('after checkpoint')
        return context.checkpointed ?? 'in one go'
      },
    }),
    /** Busy for a few turns of the loop and of the clock: whoever kills at random meets it. */
    defineJob({
      type: 'lingers',
      version: '1',
      async run(context) {
        called(context, 'run')
        await new Promise((done) => setTimeout(done, 15))
      },
    }),
    defineJob({
      type: 'held',
      version: '1',
      async run(context) {
        called(context, 'run')
        await released
        return context.body
      },
    }),
    /** Taken along twice by whoever kills its process; then it only wants to finish. */
    defineJob({
      type: 'neighbour',
      version: '1',
      async run(context) {
        called(context, 'run')
        if (context.job.attempt < 3) await released
      },
    }),
    defineJob({
      type: 'second.try',
      version: '1',
      backoff,
      async run(context) {
        called(context, 'run')
        if (context.job.attempt === 1) throw new Error('not at the first attempt')
      },
    }),
    defineJob({
      type: 'waits.once',
      version: '1',
      async run(context) {
        called(context, 'run')
        if (context.checkpointed !== undefined) return 'waited'
        await context.checkpoint('asked')
        return context.wait(context.now() + 20, 'told to come back')
      },
    }),
    defineJob({
      type: 'skips',
      version: '1',
      async run(context) {
        called(context, 'run')
        return context.skip('nothing to do')
      },
    }),
    defineJob({
      type: 'rejects',
      version: '1',
      async run(context) {
        called(context, 'run')
        return context.reject('never')
      },
    }),
    defineJob({
      type: 'throws',
      version: '1',
      attemptsMax: 3,
      backoff,
      run(context) {
        called(context, 'run')
        throw new Error('as always')
      },
    }),
    defineJob({
      type: 'hangs',
      version: '1',
      attemptsMax: 2,
      attemptMsMax: 100,
      backoff,
      run(context) {
        called(context, 'run')
        return new Promise(() => {})
      },
    }),
    defineJob({
      type: 'exits',
      version: '1',
      run(context) {
        called(context, 'run')
        process.exit(7)
      },
    }),
    defineJob({
      type: 'devours',
      version: '1',
      run(context) {
        called(context, 'run')
        const eaten: unknown[] = []
        for (;;) eaten.push(new Array(10_000).fill(eaten))
      },
    }),
  ]
}
