import { type JobContext, type JobPolicy, jobMachine } from './job.ts'

export type HandlerJobCommand = {
  readonly type: 'run'
  readonly jobId: string
  readonly attempt: number
  readonly checkpoint: unknown
}

/** The job of a type that is one function: whatever it comes to, it concludes with an outcome. */
export function handlerJobMachine(policy: JobPolicy) {
  return jobMachine<never, HandlerJobCommand>({
    id: 'job',
    version: '1',
    description: 'A job whose work is one handler function.',
    policy,
    work: (ask) => ({
      initial: 'running',
      states: { running: ask(runCommand, { description: 'The handler runs.', on: {} }) },
    }),
  })
}

function runCommand({ jobId, attempt, checkpoint }: JobContext): HandlerJobCommand {
  return { type: 'run', jobId, attempt, checkpoint }
}
