/**
 * The life of one Decorum process.
 *
 *   starting  stores are opened, migrations run, listeners bound
 *   serving   jobs are claimed, requests answered
 *   draining  nothing new is begun; what runs may finish until the grace period ends
 *   stopping  what is left is handed back, snapshots are written, connections closed
 *   stopped   the end, with the code the process exits with
 */
import { setup } from 'xstate'
import type { Stamp } from './stamp.ts'

export interface ProcessContext {
  readonly exitCode: number
  readonly reason: string
  readonly dueAt: number | null
}

export type ProcessMessage =
  | { readonly type: 'STARTED' }
  /** Something the process cannot go on without has failed. */
  | { readonly type: 'FAILED'; readonly reason: string }
  /** Ctrl+C or SIGTERM. The second time it is meant at once. */
  | { readonly type: 'STOP_REQUESTED'; readonly reason: string }
  /** Nothing runs any more. */
  | { readonly type: 'DRAINED' }
  | { readonly type: 'STOPPED' }
  | { readonly type: 'DUE' }

export type ProcessEvent = ProcessMessage & Stamp

export type ProcessCommand =
  | { readonly type: 'start' }
  /** Begin nothing new; say DRAINED when all that runs has ended. */
  | { readonly type: 'drain' }
  /** Hand back, write, close; say STOPPED. */
  | { readonly type: 'stop' }

export interface ProcessPolicy {
  /** How long running jobs may take to finish once a stop is requested. */
  readonly graceMs: number
  /** How long handing back and closing may take before the process ends regardless. */
  readonly stopMsMax: number
}

export const processPolicy: ProcessPolicy = { graceMs: 5_000, stopMsMax: 4_000 }

export function processMachine({ graceMs, stopMsMax }: ProcessPolicy = processPolicy) {
  const base = setup({
    types: {
      context: {} as ProcessContext,
      events: {} as ProcessEvent,
      emitted: {} as ProcessCommand,
      output: {} as { readonly exitCode: number; readonly reason: string },
    },
  })
  const machine = base.extend({
    actions: {
      start: base.emit({ type: 'start' }),
      drain: base.emit({ type: 'drain' }),
      stop: base.emit({ type: 'stop' }),
      noteFailure: base.assign(({ context, event }) =>
        event.type === 'FAILED' ? { exitCode: 1, reason: event.reason } : context,
      ),
      noteRequest: base.assign(({ context, event }) =>
        event.type === 'STOP_REQUESTED' ? { reason: event.reason } : context,
      ),
      giveGrace: base.assign(({ event }) => ({ dueAt: event.at + graceMs })),
      limitStop: base.assign(({ event }) => ({ dueAt: event.at + stopMsMax })),
      endLate: base.assign(({ context }) => ({
        exitCode: 1,
        reason: `${context.reason}; closing took longer than ${stopMsMax} ms`,
        dueAt: null,
      })),
      end: base.assign({ dueAt: null }),
    },
  })
  const failed = {
    target: 'stopping',
    actions: ['noteFailure', 'limitStop'],
    description: 'It cannot go on.',
  } as const

  return machine.createMachine({
    id: 'process',
    version: '1',
    description: 'The life of one Decorum process, from the first line to the exit code.',
    context: { exitCode: 0, reason: '', dueAt: null },
    output: ({ context }) => ({ exitCode: context.exitCode, reason: context.reason }),
    initial: 'starting',
    states: {
      starting: {
        description: 'Stores are opened, migrations run, listeners bound.',
        entry: 'start',
        on: {
          STARTED: { target: 'serving', description: 'Everything is in place.' },
          FAILED: failed,
          STOP_REQUESTED: {
            target: 'stopping',
            actions: ['noteRequest', 'limitStop'],
            description: 'Stopped before it had begun: there is nothing to wait for.',
          },
        },
      },
      serving: {
        description: 'Jobs are claimed and requests answered.',
        on: {
          STOP_REQUESTED: {
            target: 'draining',
            actions: ['noteRequest', 'giveGrace'],
            description: 'Begin nothing new, let running jobs finish.',
          },
          FAILED: failed,
        },
      },
      draining: {
        description: 'Nothing new is begun; what runs may finish.',
        entry: 'drain',
        on: {
          DRAINED: {
            target: 'stopping',
            actions: 'limitStop',
            description: 'Nothing runs any more.',
          },
          DUE: {
            target: 'stopping',
            actions: 'limitStop',
            description: 'The grace period is over: the rest is handed back.',
          },
          STOP_REQUESTED: {
            target: 'stopping',
            actions: ['noteRequest', 'limitStop'],
            description: 'Asked a second time: at once.',
          },
          FAILED: failed,
        },
      },
      stopping: {
        description: 'What is left is handed back, snapshots are written, connections closed.',
        entry: 'stop',
        on: {
          STOPPED: { target: 'stopped', actions: 'end', description: 'Everything is safe.' },
          DUE: {
            target: 'stopped',
            actions: 'endLate',
            description: 'Closing takes too long; leases and snapshots make up for it.',
          },
          FAILED: { actions: 'noteFailure', description: 'Something failed on the way out.' },
        },
      },
      stopped: { type: 'final', description: 'The end.' },
    },
    options: { maxIterations: 100 },
  })
}
