/**
 * A job's life on one node, from the claim to the commit of its outcome. Written once; each type
 * fills in the states of `working`, so that every type is one machine, one snapshot, one drawing.
 *
 *   working     the type's own states; each asks for its command on entry
 *   backingOff  a short pause in memory; longer ones go back to the queue
 *   counting    the store counts the next attempt before it begins
 *   settling    the decision is being committed, guarded by the fence
 *   released    back in the queue; the snapshot stays, and the next claim goes on from it
 *   done, skipped, failed, dead, cancelled, lost   the ends
 *
 * What holds: no attempt begins that the store has not counted; a decision, once made, is only
 * committed, never changed; who has lost the lease does nothing more.
 */
import { setup } from 'xstate'
import { type Decision, decide, type Outcome, pauseEnd, type RetryPolicy } from './decision.ts'
import type { Stamp } from './stamp.ts'

export interface JobLease {
  readonly attempt: number
  readonly attemptsMax: number
  readonly fence: number
}

export interface JobInput extends JobLease, Partial<Stamp> {
  readonly jobId: string
}

export interface JobContext extends JobLease {
  readonly jobId: string
  /** What the type's own states keep between each other; plain JSON, references rather than data. */
  readonly work: Readonly<Record<string, unknown>>
  /** The last `checkpoint()` of a handler, given back to it after a restart. */
  readonly checkpoint: unknown
  readonly progress: JobProgress | null
  readonly decision: Decision | null
  readonly dueAt: number | null
}

export interface JobProgress {
  readonly done: number
  readonly total: number | null
  readonly note: string
}

export type JobMessage =
  /** The work has come to an end, or cannot go on. */
  | { readonly type: 'CONCLUDED'; readonly outcome: Outcome }
  | { readonly type: 'CHECKPOINTED'; readonly checkpoint: unknown }
  | { readonly type: 'PROGRESSED'; readonly progress: JobProgress }
  /** The store has counted one more attempt. */
  | { readonly type: 'COUNTED'; readonly attempt: number }
  | { readonly type: 'SETTLED' }
  | { readonly type: 'CANCELLED' }
  | { readonly type: 'LEASE_LOST' }
  /** The process stops and gives back what it cannot finish. */
  | { readonly type: 'DRAINED' }
  | { readonly type: 'DUE' }
  | { readonly type: 'RESUMED'; readonly input: JobInput }

export type JobCommand =
  | { readonly type: 'abort'; readonly reason: 'cancelled' | 'leaseLost' | 'drained' | 'timedOut' }
  /** The number it is to have, because the command may be repeated. */
  | { readonly type: 'countAttempt'; readonly attempt: number; readonly fence: number }
  | { readonly type: 'settle'; readonly decision: Decision; readonly fence: number }

export interface JobPolicy extends RetryPolicy {
  /** An attempt that takes longer is aborted and counts as failed. */
  readonly attemptMsMax: number
}

interface Named {
  readonly type: string
}

/** What a job type brings: its own events and commands are typed by its definition. */
export interface JobDefinition<E extends Named, C extends Named> {
  /**
   * The machine's id: `job` for handlers, `job-entity-match` for a type with states. Without dots:
   * XState finds the step at which the work stood by its dotted id, and would not find it again.
   */
  readonly id: string
  readonly version: string
  readonly description: string
  readonly policy: JobPolicy
  /** The nested states of `working`; a final one, where there is one, means done with its output. */
  work(ask: AskBuilder<E, C>): JobWork
  /** What the nested states start from. */
  workContext?(input: JobInput): Readonly<Record<string, unknown>>
}

export interface JobWork {
  readonly initial: string
  readonly states: Readonly<Record<string, object>>
}

/** A state that asks for a command when entered, and again after a restart. */
export type AskBuilder<E extends Named, C extends Named> = (
  command: (context: JobContext) => C,
  state: {
    readonly description: string
    readonly on: { readonly [T in E['type']]?: object | readonly object[] }
  },
) => object

const base = setup({
  types: {
    context: {} as JobContext,
    events: {} as JobMessage & Stamp,
    input: {} as JobInput,
    emitted: {} as JobCommand,
    tags: {} as 'checkpoint' | 'repeatable' | 'evictable' | 'asleep' | 'succeeded',
  },
})

export function jobMachine<E extends Named = never, C extends Named = never>(
  definition: JobDefinition<E, C>,
) {
  const { policy } = definition
  if (definition.id.includes('.'))
    throw new Error(`The job machine '${definition.id}' needs an id without dots.`)

  const decisionOf = (context: JobContext, event: JobMessage & Stamp): Decision => {
    const outcome = event.type === 'CONCLUDED' ? event.outcome : timedOut(policy.attemptMsMax)
    return decide(outcome, context, policy, event)
  }
  const isDecided =
    (...kinds: Decision['kind'][]) =>
    ({ context }: { context: JobContext }) =>
      context.decision !== null && kinds.includes(context.decision.kind)

  const ask: AskBuilder<E, C> = (command, { description, on }) => {
    // XState knows the lifecycle's commands; those of a type are typed by its definition.
    const request = base.emit(({ context }) => command(context) as never)
    return {
      description,
      tags: ['checkpoint'],
      entry: request,
      on: {
        ...on,
        RESUMED: {
          actions: ['renewLease', 'startTimer', request],
          description: 'Back after a crash: ask once more.',
        },
      },
    }
  }
  const { initial, states } = definition.work(ask)

  const machine = base.extend({
    guards: {
      isClaimedAnew: ({ context, event }) => isClaimedAnew(context, event),
      isDueAgain: ({ context, event }) =>
        isClaimedAnew(context, event) && (returnAt(context) ?? Infinity) <= event.at,
      isPutOff: ({ context, event }) => isClaimedAnew(context, event) && returnAt(context) !== null,
      pausesBriefly: ({ context, event }) =>
        pauseEnd(decisionOf(context, event), event.at, policy) !== null,
      costsAttempt: isDecided('requeue'),
      isDone: isDecided('done'),
      isSkipped: isDecided('skipped'),
      isFailed: isDecided('failed'),
      isDead: isDecided('dead'),
      isCancelled: isDecided('cancelled'),
    },
    actions: {
      renewLease: base.assign(({ context, event }) => renewed(context, event)),
      /** The claim has counted this attempt already: what is left is the pause. */
      renewPause: base.assign(({ context, event }) =>
        event.type === 'RESUMED'
          ? { ...leaseOf(event.input), decision: parked(returnAt(context) ?? event.at) }
          : {},
      ),
      checkpoint: base.assign(({ event }) =>
        event.type === 'CHECKPOINTED' ? { checkpoint: event.checkpoint } : {},
      ),
      progress: base.assign(({ event }) =>
        event.type === 'PROGRESSED' ? { progress: event.progress } : {},
      ),
      decide: base.assign(({ context, event }) => ({
        decision: decisionOf(context, event),
        dueAt: null,
      })),
      pause: base.assign(({ context, event }) => {
        const decision = decisionOf(context, event)
        return { decision, dueAt: pauseEnd(decision, event.at, policy) }
      }),
      decideCancelled: base.assign({ decision: { kind: 'cancelled' }, dueAt: null }),
      decideHandBack: base.assign(({ event }) => ({ decision: parked(event.at), dueAt: null })),
      takeCount: base.assign(({ context, event }) =>
        event.type === 'COUNTED' ? { attempt: event.attempt } : context,
      ),
      beginAttempt: base.assign(({ event }) => ({
        decision: null,
        dueAt: event.at + policy.attemptMsMax,
      })),
      startTimer: base.assign(({ event }) => ({ dueAt: event.at + policy.attemptMsMax })),
      stopTimer: base.assign({ dueAt: null }),
      abortCancelled: base.emit({ type: 'abort', reason: 'cancelled' }),
      abortLost: base.emit({ type: 'abort', reason: 'leaseLost' }),
      abortDrained: base.emit({ type: 'abort', reason: 'drained' }),
      abortTimedOut: base.emit({ type: 'abort', reason: 'timedOut' }),
      countAttempt: base.emit(({ context }) => ({
        type: 'countAttempt',
        attempt: context.attempt + 1,
        fence: context.fence,
      })),
      settle: base.emit(({ context }) => ({
        type: 'settle',
        decision: context.decision ?? parked(0),
        fence: context.fence,
      })),
      decideDone: base.assign(({ event }) => ({
        decision: { kind: 'done', result: outputOf(event) },
        dueAt: null,
      })),
    },
  })

  const calledOff = {
    target: 'settling',
    actions: 'decideCancelled',
    description: 'Somebody no longer wants it.',
  } as const
  const leaseLost = { target: 'lost', description: 'Another node has it now.' } as const

  return machine.createMachine({
    id: definition.id,
    version: definition.version,
    description: definition.description,
    context: ({ input }) => ({
      jobId: input?.jobId ?? '',
      ...leaseOf(input),
      work: (input && definition.workContext?.(input)) ?? {},
      checkpoint: null,
      progress: null,
      decision: null,
      dueAt: (input?.at ?? 0) + policy.attemptMsMax,
    }),
    initial: 'working',
    states: {
      working: {
        description: 'The work itself: the states of the job’s type.',
        initial,
        states: {
          ...states,
          where: {
            type: 'history',
            history: 'deep',
            description: 'The step at which the work stood.',
          },
        },
        ...(hasLastStep(states) && {
          onDone: {
            target: 'settling',
            actions: 'decideDone',
            description: 'The last step is done.',
          },
        }),
        on: {
          CONCLUDED: [
            {
              guard: 'pausesBriefly',
              target: 'backingOff',
              actions: 'pause',
              description: 'It goes on after a pause short enough to wait out here.',
            },
            { target: 'settling', actions: 'decide', description: 'What follows is decided.' },
          ],
          DUE: [
            {
              guard: 'pausesBriefly',
              target: 'backingOff',
              actions: ['abortTimedOut', 'pause'],
              description: 'The attempt took too long; another one follows shortly.',
            },
            {
              target: 'settling',
              actions: ['abortTimedOut', 'decide'],
              description: 'The attempt took too long.',
            },
          ],
          CHECKPOINTED: { actions: 'checkpoint', description: 'A place to go on from.' },
          PROGRESSED: { actions: 'progress', description: 'Seen by whoever watches.' },
          CANCELLED: {
            target: 'settling',
            actions: ['abortCancelled', 'decideCancelled'],
            description: 'Somebody no longer wants it.',
          },
          DRAINED: {
            target: 'settling',
            actions: ['abortDrained', 'decideHandBack'],
            description: 'The process stops: another one may go on.',
          },
          LEASE_LOST: {
            target: 'lost',
            actions: 'abortLost',
            description: 'Another node has it now.',
          },
        },
      },
      backingOff: {
        description: 'A short pause before the work goes on.',
        tags: ['checkpoint', 'repeatable'],
        on: {
          DUE: [
            {
              guard: 'costsAttempt',
              target: 'counting',
              actions: 'stopTimer',
              description: 'The pause is over; the next attempt has to be counted first.',
            },
            {
              target: 'working.where',
              actions: 'beginAttempt',
              description: 'The pause is over and cost no attempt.',
            },
          ],
          CANCELLED: calledOff,
          DRAINED: {
            target: 'settling',
            actions: 'stopTimer',
            description: 'The process stops: the rest of the pause is waited out in the queue.',
          },
          LEASE_LOST: leaseLost,
          RESUMED: [
            {
              guard: 'isClaimedAnew',
              actions: 'renewPause',
              description: 'Claimed again after a crash: the rest of the pause is left.',
            },
            { description: 'Back after a crash, under the same lease: the pause goes on.' },
          ],
        },
      },
      counting: {
        description: 'The store counts the next attempt, so that a crash cannot win a free one.',
        tags: ['checkpoint'],
        entry: 'countAttempt',
        on: {
          COUNTED: {
            target: 'working.where',
            actions: ['takeCount', 'beginAttempt'],
            description: 'Counted: on from the step where it stood.',
          },
          CANCELLED: calledOff,
          DRAINED: {
            target: 'settling',
            description: 'The process stops: the next claim counts the attempt.',
          },
          LEASE_LOST: leaseLost,
          RESUMED: [
            {
              guard: 'isClaimedAnew',
              target: 'working.where',
              actions: ['renewLease', 'beginAttempt'],
              description: 'Claimed again after a crash: the claim has counted the attempt.',
            },
            {
              actions: 'countAttempt',
              description: 'Back after a crash, under the same lease: ask once more.',
            },
          ],
        },
      },
      settling: {
        description: 'The decision is being committed; only the holder of the newest fence can.',
        tags: ['checkpoint', 'repeatable'],
        entry: 'settle',
        on: {
          SETTLED: [
            { guard: 'isDone', target: 'done', description: 'The result is saved.' },
            { guard: 'isSkipped', target: 'skipped', description: 'There was nothing to do.' },
            { guard: 'isFailed', target: 'failed', description: 'It cannot succeed.' },
            { guard: 'isDead', target: 'dead', description: 'Its attempts are used up.' },
            { guard: 'isCancelled', target: 'cancelled', description: 'It was called off.' },
            { target: 'released', description: 'It is back in the queue.' },
          ],
          LEASE_LOST: leaseLost,
          RESUMED: [
            {
              guard: 'isDueAgain',
              target: 'working.where',
              actions: ['renewLease', 'beginAttempt'],
              description: 'It had gone back, and is claimed again: on from where it stood.',
            },
            {
              guard: 'isPutOff',
              actions: ['renewPause', 'settle'],
              description: 'It was to go back for longer than the crash took: the rest is left.',
            },
            {
              actions: ['renewLease', 'settle'],
              description: 'Back after a crash: the commit had not happened.',
            },
          ],
        },
      },
      released: {
        description: 'Back in the queue. Its snapshot stays, and the next claim goes on from it.',
        tags: ['checkpoint', 'evictable', 'asleep'],
        on: {
          RESUMED: {
            target: 'working.where',
            actions: ['renewLease', 'beginAttempt'],
            description: 'Claimed again: on from the step where it stood.',
          },
        },
      },
      done: { type: 'final', description: 'Finished, and its result is saved.' },
      skipped: { type: 'final', description: 'There was nothing to do.' },
      failed: { type: 'final', description: 'It failed in a way that trying again cannot mend.' },
      dead: { type: 'final', description: 'Every attempt failed; it lies with the dead letters.' },
      cancelled: { type: 'final', description: 'Somebody called it off.' },
      lost: {
        type: 'final',
        tags: ['succeeded'],
        description: 'Another node holds the lease; nothing was written.',
      },
    },
    options: { maxIterations: 100 },
  })
}

/** Without one the work ends only by concluding. */
function hasLastStep(states: JobWork['states']): boolean {
  return Object.values(states).some((state) => 'type' in state && state.type === 'final')
}

function leaseOf(input: JobInput | undefined): JobLease {
  return {
    attempt: input?.attempt ?? 1,
    attemptsMax: input?.attemptsMax ?? 1,
    fence: input?.fence ?? 0,
  }
}

/**
 * A newer fence is a new claim, which brings its own count. An actor restarted under the fence it
 * has keeps what was counted since: the input it is resumed with is that of its beginning.
 */
function renewed({ attempt, attemptsMax, fence }: JobLease, event: JobMessage): JobLease {
  return event.type === 'RESUMED' && isClaimedAnew({ fence }, event)
    ? leaseOf(event.input)
    : { attempt, attemptsMax, fence }
}

function isClaimedAnew({ fence }: Pick<JobLease, 'fence'>, event: JobMessage): boolean {
  return event.type === 'RESUMED' && event.input.fence > fence
}

/** When it was to be back from the queue, if that was decided. */
function returnAt({ decision }: JobContext): number | null {
  return decision?.kind === 'requeue' || decision?.kind === 'park' ? decision.runAt : null
}

function parked(runAt: number): Decision {
  return { kind: 'park', runAt, reason: 'handed back' }
}

function timedOut(attemptMsMax: number): Outcome {
  const message = `The attempt took longer than ${attemptMsMax} ms.`
  return { kind: 'retry', error: { code: 'ATTEMPT_TIMED_OUT', message } }
}

/** XState hands a finished state's output over on its own event. */
function outputOf(event: object): unknown {
  return 'output' in event ? event.output : undefined
}
