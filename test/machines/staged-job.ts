import { assign } from 'xstate'
import { type JobContext, type JobPolicy, jobMachine } from '../../src/machines/job.ts'

/** A job type with three steps, each waiting for its own answer: a stand-in for real types. */

export type StagedMessage =
  | { readonly type: 'LOADED'; readonly item: string }
  | { readonly type: 'FETCHED'; readonly body: string }
  | { readonly type: 'SAVED'; readonly reference: string }

export type StagedCommand =
  | { readonly type: 'load'; readonly jobId: string }
  | { readonly type: 'fetch'; readonly item: unknown }
  | { readonly type: 'save'; readonly body: unknown }

export const stagedAnswers = [
  { type: 'LOADED', item: 'i' },
  { type: 'FETCHED', body: 'b' },
  { type: 'SAVED', reference: 'r' },
] as const satisfies readonly StagedMessage[]

export function stagedJobMachine(policy: JobPolicy) {
  return jobMachine<StagedMessage, StagedCommand>({
    id: 'job.staged',
    version: '1',
    description: 'Loads an item, fetches what it names, saves the answer.',
    policy,
    workContext: ({ jobId }) => ({ source: jobId }),
    work: (ask) => ({
      initial: 'loading',
      states: {
        loading: ask(({ jobId }) => ({ type: 'load', jobId }), {
          description: 'The item is read.',
          on: {
            LOADED: { target: 'fetching', actions: keep('item'), description: 'It is there.' },
          },
        }),
        fetching: ask(({ work }) => ({ type: 'fetch', item: work.item }), {
          description: 'What it names is fetched.',
          on: {
            FETCHED: { target: 'saving', actions: keep('body'), description: 'It has come.' },
          },
        }),
        saving: ask(({ work }) => ({ type: 'save', body: work.body }), {
          description: 'The answer is saved.',
          on: { SAVED: { target: 'saved', description: 'It is safe.' } },
        }),
        saved: {
          type: 'final',
          description: 'Nothing is left to do.',
          output: ({ event }: { event: StagedMessage }) =>
            event.type === 'SAVED' ? event.reference : null,
        },
      },
    }),
  })
}

/** Puts one field of the answer into the job's work. */
function keep(field: string) {
  return assign(({ context, event }) => ({
    work: { ...(context as JobContext).work, [field]: Reflect.get(event, field) },
  }))
}
