import { assign } from 'xstate'
import { type JobContext, type JobPolicy, jobMachine } from '../../src/machines/job.ts'

/** A job type with steps inside steps, each waiting for its own answer: a stand-in for real types. */

export type StagedMessage =
  | { readonly type: 'LOADED'; readonly item: string }
  | { readonly type: 'CONNECTED'; readonly address: string }
  | { readonly type: 'FETCHED'; readonly body: string }
  | { readonly type: 'SAVED'; readonly reference: string }

export type StagedCommand =
  | { readonly type: 'load'; readonly jobId: string }
  | { readonly type: 'connect'; readonly item: unknown }
  | { readonly type: 'fetch'; readonly address: unknown }
  | { readonly type: 'save'; readonly body: unknown }

export const stagedAnswers = [
  { type: 'LOADED', item: 'i' },
  { type: 'CONNECTED', address: 'a' },
  { type: 'FETCHED', body: 'b' },
  { type: 'SAVED', reference: 'r' },
] as const satisfies readonly StagedMessage[]

export function stagedJobMachine(policy: JobPolicy) {
  return jobMachine<StagedMessage, StagedCommand>({
    id: 'job-staged',
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
        fetching: {
          description: 'What it names is fetched.',
          initial: 'connecting',
          states: {
            connecting: ask(({ work }) => ({ type: 'connect', item: work.item }), {
              description: 'Its server is looked for.',
              on: {
                CONNECTED: {
                  target: 'reading',
                  actions: keep('address'),
                  description: 'It answers.',
                },
              },
            }),
            reading: ask(({ work }) => ({ type: 'fetch', address: work.address }), {
              description: 'The answer is read.',
              on: {
                FETCHED: { target: 'read', actions: keep('body'), description: 'It has come.' },
              },
            }),
            read: { type: 'final', description: 'All of it is here.' },
          },
          onDone: { target: 'saving', description: 'There is something to save.' },
        },
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
