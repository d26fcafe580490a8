import type { StampedEvent } from '../actors/statechart.ts'
import { type ProcessContext, type ProcessMessage, processMachine } from '../machines/process.ts'
import type { ProofSpec } from './proof-spec.ts'

export const processSpec: ProofSpec = {
  machine: processMachine(),
  bounds: 'every event in every state',
  input: {},
  startAt: 1_000_000,
  // A process may serve for ever.
  rests: ['serving'],

  *events({ context }, now) {
    const { dueAt } = context as ProcessContext
    const messages: ProcessMessage[] = [
      { type: 'STARTED' },
      { type: 'FAILED', reason: 'broken' },
      { type: 'STOP_REQUESTED', reason: 'asked' },
      { type: 'DRAINED' },
      { type: 'STOPPED' },
    ]
    for (const message of messages) yield { ...message, at: now, roll: 0 }
    if (dueAt !== null) {
      const due: StampedEvent = { type: 'DUE', at: dueAt, roll: 0 }
      yield due
    }
  },

  view(context, now) {
    const { dueAt, ...rest } = context as unknown as ProcessContext
    return [rest, dueAt === null ? null : dueAt - now]
  },
}
