import { assign } from 'xstate'
import { type JobContext, type JobPolicy, jobMachine } from './job.ts'

/** A state has been performed; where it goes depends on the event's own name. */
export interface StatesJobMessage {
  /** `PERFORMED`, or a name that the state knows. */
  readonly type: string
  readonly value: unknown
}

export interface StatesJobCommand {
  readonly type: 'perform'
  readonly jobId: string
  readonly attempt: number
  readonly state: string
  readonly work: Readonly<Record<string, unknown>>
  readonly checkpoint: unknown
}

export interface StatesJobOptions {
  readonly id: string
  readonly version: string
  readonly description: string
  readonly policy: JobPolicy
  /** In the order in which people read them; the first is where a job begins. */
  readonly states: Readonly<Record<string, StepOptions>>
}

export interface StepOptions {
  readonly description: string
  /** Event → the state that follows; without it, performing this state ends the job. */
  readonly on?: Readonly<Record<string, string>>
}

const END = 'performed'

/**
 * The job of a type with several states: each is performed, what it brought is kept in `work` under
 * the state's name, and the event it ended with leads on.
 */
export function statesJobMachine({ id, version, description, policy, states }: StatesJobOptions) {
  const names = Object.keys(states)
  const [initial] = names
  if (initial === undefined) throw new Error(`The job machine '${id}' needs at least one state.`)

  return jobMachine<StatesJobMessage, StatesJobCommand>({
    id,
    version,
    description,
    policy,
    work: (ask) => ({
      initial,
      states: {
        ...Object.fromEntries(
          Object.entries(states).map(([state, step]) => [
            state,
            ask((context) => perform(state, context), {
              description: step.description,
              on: Object.fromEntries(
                Object.entries(step.on ?? { PERFORMED: END }).map(([event, target]) => [
                  event,
                  { target, actions: keepAs(state), description: `On to ${target}.` },
                ]),
              ),
            }),
          ]),
        ),
        [END]: {
          type: 'final',
          description: 'Nothing is left to do.',
          output: ({ event }: { event: StatesJobMessage }) => event.value,
        },
      },
    }),
  })
}

function perform(
  state: string,
  { jobId, attempt, work, checkpoint }: JobContext,
): StatesJobCommand {
  return { type: 'perform', jobId, attempt, state, work, checkpoint }
}

/** A checkpoint belongs to the state it was made in: the next one starts with none. */
function keepAs(state: string) {
  return assign(({ context, event }) => ({
    work: { ...(context as JobContext).work, [state]: (event as StatesJobMessage).value },
    checkpoint: null,
  }))
}
