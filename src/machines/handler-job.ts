import { type JobContext, type JobPolicy, jobMachine } from './job.ts'

/** The handler has returned, and this is its result. */
export interface HandlerJobMessage {
  readonly type: 'RETURNED'
  readonly result: unknown
}

export type HandlerJobCommand = {
  readonly type: 'run'
  readonly jobId: string
  readonly attempt: number
  readonly checkpoint: unknown
}

/** The job of a type that is one function: it returns a result, or concludes with an outcome. */
export function handlerJobMachine(policy: JobPolicy) {
  return jobMachine<HandlerJobMessage, HandlerJobCommand>({
    id: 'job',
    version: '1',
    description: 'A job whose work is one handler function.',
    policy,
    work: (ask) => ({
      initial: 'running',
      states: {
        running: ask(runCommand, {
          description: 'The handler runs.',
          on: { RETURNED: { target: 'returned', description: 'The handler has its result.' } },
        }),
        returned: {
          type: 'final',
          description: 'The result is there.',
          output: ({ event }: { event: HandlerJobMessage }) => event.result,
        },
      },
    }),
  })
}

function runCommand({ jobId, attempt, checkpoint }: JobContext): HandlerJobCommand {
  return { type: 'run', jobId, attempt, checkpoint }
}
