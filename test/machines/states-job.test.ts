import { expect, it } from 'vitest'
import type { JobCommand, JobContext, JobMessage } from '../../src/machines/job.ts'
import {
  type StatesJobCommand,
  type StatesJobMessage,
  statesJobMachine,
} from '../../src/machines/states-job.ts'
import { HostedMachine } from './hosted-machine.ts'

const machine = statesJobMachine({
  id: 'job-staged',
  version: '1',
  description: 'Three steps.',
  policy: {
    backoff: { kind: 'schedule', delaysMs: [1_000] },
    pauseMsMax: 5_000,
    attemptMsMax: 60_000,
  },
  states: {
    load: { description: 'Loads.', on: { PERFORMED: 'score', GONE: 'save' } },
    score: { description: 'Scores.', on: { PERFORMED: 'save', AGAIN: 'load' } },
    save: { description: 'Saves.' },
  },
})

type Asked = JobCommand | StatesJobCommand

function hosted() {
  return new HostedMachine<JobMessage | StatesJobMessage, Asked, JobContext>(machine, {
    input: { jobId: 'j', attempt: 1, attemptsMax: 3, fence: 1 },
  })
}

const performed = (value: unknown, type = 'PERFORMED') => ({ type, value })
const asked = (job: ReturnType<typeof hosted>) =>
  job.take().map((command) => (command.type === 'perform' ? command.state : command.type))

it('performs its states in the order of their events, and is done with what the last one brought', () => {
  const job = hosted()
  expect(asked(job)).toEqual(['load'])
  job.send(performed('loaded'))
  expect(job.take()).toMatchObject([{ state: 'score', work: { load: 'loaded' } }])
  job.send(performed('scored'))
  expect(job.take()).toMatchObject([{ state: 'save', work: { load: 'loaded', score: 'scored' } }])
  job.send(performed('saved'))
  expect(job.take()).toMatchObject([
    { type: 'settle', decision: { kind: 'done', result: 'saved' }, fence: 1 },
  ])
  job.send({ type: 'SETTLED' })
  expect(job.state).toBe('done')
})

it('an event of another name leads another way', () => {
  const job = hosted()
  job.send(performed(null, 'GONE'))
  expect(asked(job)).toEqual(['load', 'save'])
})

it('a state that is entered again replaces what it brought before', () => {
  const job = hosted()
  job.send(performed(1)).send(performed(null, 'AGAIN')).send(performed(2))
  expect(job.context.work).toEqual({ load: 2, score: null })
})

it('a checkpoint belongs to the state it was made in', () => {
  const job = hosted()
  job.send({ type: 'CHECKPOINTED', checkpoint: { page: 3 } })
  job.save().crash()
  expect(job.take().at(-1)).toMatchObject({ state: 'load', checkpoint: { page: 3 } })
  job.send(performed('loaded'))
  expect(job.take()).toMatchObject([{ state: 'score', checkpoint: null }])
})

it('a failed state is performed again, and those before it are not', () => {
  const job = hosted()
  job.send(performed('loaded')).send(performed('scored'))
  asked(job)
  const error = { code: 'x', message: 'x' }
  job.send({ type: 'CONCLUDED', outcome: { kind: 'retry', error } }).advance(1_000)
  expect(asked(job)).toEqual(['countAttempt'])
  job.send({ type: 'COUNTED', attempt: 2 })
  expect(job.take()).toMatchObject([{ state: 'save', attempt: 2, work: { score: 'scored' } }])
})

it('after a crash it asks for the state it stood in', () => {
  const job = hosted()
  job.send(performed('loaded')).save()
  asked(job)
  job.crash({ input: { jobId: 'j', attempt: 2, attemptsMax: 3, fence: 2 }, fence: 2 })
  expect(job.take()).toMatchObject([{ state: 'score', attempt: 2, work: { load: 'loaded' } }])
})

it('what a state brings after the job was cancelled changes nothing', () => {
  const job = hosted()
  job.send({ type: 'CANCELLED' }).send(performed('late'))
  expect(asked(job)).toEqual(['load', 'abort', 'settle'])
  expect(job.context.decision).toEqual({ kind: 'cancelled' })
})

it('needs at least one state', () => {
  const options = { id: 'x', version: '1', description: 'None.', states: {} }
  expect(() => statesJobMachine({ ...options, policy: {} as never })).toThrow(/at least one/)
})
