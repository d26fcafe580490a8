/**
 * This process as a live actor: the machine says what is to be done next, the duties do it, and
 * what came of it goes back to the machine as an event. However badly a duty goes, `ended` comes.
 */
import type { SendVerdict } from '../actors/actor-kind.ts'
import type { ActorHost } from '../actors/host.ts'
import { statechartOf } from '../actors/statechart.ts'
import {
  type ProcessCommand,
  type ProcessMessage,
  type ProcessPolicy,
  processMachine,
} from '../machines/process.ts'

export interface ProcessDuties {
  /** Opens what the process serves with; the message of a failure is shown to a person. */
  start(): Promise<void>
  /** Begins nothing new; resolves when nothing runs any more. */
  drain(): Promise<void>
  /** Closes everything. Comes after `start` has settled, also when that has failed. */
  stop(): Promise<void>
}

export interface ProcessEnd {
  readonly exitCode: number
  readonly reason: string
}

export interface ProcessLife {
  /** `starting`, `serving`, `draining`, `stopping` or, when it is over, `stopped`. */
  readonly state: string
  /** Stays open when the process ends before it serves. */
  readonly serving: Promise<void>
  readonly ended: Promise<ProcessEnd>
  /** The second time it is meant at once. */
  requestStop(reason: string): void
}

/** There is one process, and this is its name among the actors. */
const SELF = 'self'

export function beginProcessLife(
  host: ActorHost,
  duties: ProcessDuties,
  policy?: ProcessPolicy,
): ProcessLife {
  const chart = statechartOf(processMachine(policy))
  const serving = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<ProcessEnd>()
  let starting = Promise.resolve()

  const actors = host.register<ProcessMessage, ProcessCommand>({
    name: 'process',
    chart: () => chart,
    isDurable: false,
    perform(command) {
      switch (command.type) {
        case 'start':
          starting = attempt(duties.start, { type: 'STARTED' })
          break
        case 'drain':
          attempt(duties.drain, { type: 'DRAINED' })
          break
        case 'stop':
          // Closing is over even where it has failed: nobody would try it again.
          starting.then(() => attempt(duties.stop)).then(() => tell({ type: 'STOPPED' }))
          break
        default:
          command satisfies never
      }
    },
  })

  async function attempt(duty: () => Promise<void>, success?: ProcessMessage): Promise<void> {
    try {
      await duty()
      if (success) tell(success)
    } catch (error) {
      tell({ type: 'FAILED', reason: error instanceof Error ? error.message : String(error) })
    }
  }

  function tell(message: ProcessMessage): SendVerdict {
    return actors.send(SELF, message)
  }

  host.inspect('process', SELF, ({ snapshot }) => {
    if (snapshot.matches('serving')) serving.resolve()
  })
  host.on('actor.finished', ({ kind, output }) => {
    if (kind === 'process') ended.resolve(output as ProcessEnd)
  })
  actors.start(SELF, { input: {}, isNew: true })

  return {
    get state() {
      return String(actors.peek(SELF)?.value ?? (actors.size > 0 ? 'starting' : 'stopped'))
    },
    serving: serving.promise,
    ended: ended.promise,
    requestStop(reason) {
      // An actor that takes no letters cannot stop the process in good order; a person still must.
      if (tell({ type: 'STOP_REQUESTED', reason }) !== 'accepted')
        ended.resolve({ exitCode: 1, reason })
    },
  }
}
