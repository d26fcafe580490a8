/**
 * XState, as the host uses it: the one file that starts, steps, persists, restores and inspects
 * machines. Version 6 changes exactly these calls, and nothing outside this file makes them.
 *
 * An actor here is its snapshot: the host holds it, and each step yields the next one together
 * with the commands the machine emitted. All actors of one machine share one inert scope, because
 * a live XState `Actor` brings a mailbox, a scheduler and a registry of its own: 4 KB that the host
 * already provides (docs/decisions/0001-the-host-steps-the-machines.md).
 */
import {
  type ActionExecutor,
  type ActorScope,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  createActor,
  type EventObject,
  type InspectionEvent,
  type StateValue,
} from 'xstate'
import { CompiledMachine, isCompilable } from './compiled-machine.ts'
import { refusal } from './machine-actions.ts'

export type Machine = AnyStateMachine
export type MachineSnapshot = AnyMachineSnapshot

/** What a machine asks the outside world to do. */
export interface Command {
  readonly type: string
}

/** An event on its way to an actor. */
export interface Letter {
  readonly type: string
}

/** Every event reaches its machine with the time and the chance it may use. */
export interface StampedEvent extends Letter {
  readonly at: number
  readonly roll: number
}

export interface Step {
  readonly snapshot: MachineSnapshot
  readonly commands: readonly Command[]
}

/** One step as an inspector sees it: `transitions` are the machine's own transition objects. */
export interface InspectedStep extends Step {
  readonly event: StampedEvent
  readonly before: MachineSnapshot
  readonly transitions: readonly object[]
}

/** The part of a snapshot that has to survive; plain JSON. */
export interface PersistedState {
  readonly value: StateValue
  readonly context: Readonly<Record<string, unknown>>
  readonly history?: unknown
}

/** Who works out a step: plans made once for each transition, or XState each time. */
export type Stepping = 'compiled' | 'xstate'

export interface Statechart {
  readonly machine: Machine
  readonly version: string
  /** Event types the machine knows; any other would stay in XState's caches for ever. */
  readonly accepts: ReadonlySet<string>
  readonly stepping: Stepping
  begin(input: unknown): Step
  step(snapshot: MachineSnapshot, event: StampedEvent): Step
  inspectedStep(snapshot: MachineSnapshot, event: StampedEvent): InspectedStep
  persist(snapshot: MachineSnapshot): PersistedState
  /** Throws, saying why, when the state does not belong to this machine. */
  restore(state: PersistedState): MachineSnapshot
}

const NOTHING: readonly Command[] = Object.freeze([])

/** A scope that collects emitted commands and refuses every other effect. */
class CollectingScope {
  readonly scope: ActorScope<MachineSnapshot, EventObject>
  #commands: Command[] | undefined

  constructor(machine: Machine) {
    const self = createActor(machine)
    const actionExecutor: ActionExecutor = (action) => {
      if (action.type === 'xstate.emit') this.#collect(emittedBy(action.params))
      else if (action.type !== 'xstate.raise' || isDelayed(action.params))
        throw refusal(machine, action.type)
    }
    this.scope = {
      self,
      id: self.id,
      sessionId: self.sessionId,
      system: self.system,
      logger: () => {},
      defer: () => {},
      emit: () => {},
      stopChild: () => {},
      actionExecutor,
    }
  }

  run(work: (scope: ActorScope<MachineSnapshot, EventObject>) => MachineSnapshot): Step {
    this.#commands = undefined
    const snapshot = work(this.scope)
    return { snapshot, commands: this.#commands ?? NOTHING }
  }

  inspect(observer: (event: InspectionEvent) => void): void {
    this.scope.system.inspect(observer)
  }

  #collect(command: Command): void {
    this.#commands ??= []
    this.#commands.push(command)
  }
}

function emittedBy(params: unknown): Command {
  return (params as { event: Command }).event
}

function isDelayed(params: unknown): boolean {
  return (params as { delay?: number } | undefined)?.delay !== undefined
}

/** XState's own events, such as that of a finished state, come from inside the machine only. */
function isForLetters(type: string): boolean {
  return !type.startsWith('xstate.')
}

/** XState puts the exact transition objects on its microstep events, under a private name. */
function transitionsOf(event: InspectionEvent): readonly object[] {
  return event.type === '@xstate.microstep' ? event._transitions : []
}

/**
 * `xstate` leaves every step to XState itself: for judging the compiled ones. A machine that does
 * not fit the compiler is left to it in any case.
 */
export function statechartOf(machine: Machine, wanted: Stepping = 'compiled'): Statechart {
  if (!machine.version) throw new Error(`Machine '${machine.id}' has no version.`)
  const accepts = new Set(machine.events.filter(isForLetters))
  for (const type of accepts)
    if (type.endsWith('*'))
      throw new Error(
        `Machine '${machine.id}' listens to '${type}'. Name its events: the host refuses letters of unknown types.`,
      )
  const scope = new CollectingScope(machine)
  // A second scope for actors somebody is looking at: the others pay nothing for it.
  let inspectedScope: CollectingScope | undefined
  let taken: object[] = []
  const stepping = isCompilable(machine) ? wanted : 'xstate'
  const compiled = stepping === 'compiled' ? new CompiledMachine(machine, scope.scope) : undefined
  const contextKeys = Object.keys(scope.run((s) => machine.getInitialSnapshot(s)).snapshot.context)

  return {
    machine,
    version: machine.version,
    accepts,
    stepping,

    begin(input) {
      if (compiled) return compiled.begin(input)
      const step = scope.run((s) => machine.getInitialSnapshot(s, input))
      if (step.snapshot.status === 'error') throw step.snapshot.error
      return step
    },

    step: (snapshot, event) =>
      compiled && snapshot.status === 'active'
        ? compiled.step(snapshot, event)
        : scope.run((s) => machine.transition(snapshot, event, s)),

    inspectedStep(before, event) {
      if (!inspectedScope) {
        inspectedScope = new CollectingScope(machine)
        inspectedScope.inspect((seen) => {
          for (const transition of transitionsOf(seen)) taken.push(transition)
        })
      }
      taken = []
      const step = inspectedScope.run((s) => machine.transition(before, event, s))
      return { ...step, event, before, transitions: taken }
    },

    persist(snapshot) {
      const { value, context, historyValue } = snapshot
      // Only history needs XState's help: it refers to nodes of the machine.
      if (Object.keys(historyValue).length === 0) return { value, context }
      const persisted = machine.getPersistedSnapshot(snapshot) as MachineSnapshot
      return { value, context, history: persisted.historyValue }
    },

    restore(state) {
      for (const key of contextKeys)
        if (!(key in state.context)) throw new Error(`its context lacks '${key}'`)
      const { snapshot } = scope.run((s) =>
        machine.restoreSnapshot(
          {
            status: 'active',
            output: undefined,
            error: undefined,
            value: state.value,
            context: state.context,
            historyValue: state.history ?? {},
            children: {},
          } as never,
          s,
        ),
      )
      return compiled ? compiled.adopt(snapshot) : snapshot
    },
  }
}

/** Compiled snapshots share their values, and every step asks for the name of one. */
const names = new WeakMap<object, string>()

/** A snapshot's state as one line: `pacing`, `working.fetching`, `a.x+b.y` for parallel states. */
export function stateName(value: StateValue): string {
  if (typeof value === 'string') return value
  const known = names.get(value)
  if (known !== undefined) return known
  const name = Object.entries(value)
    .map(([key, inner]) => {
      const rest = inner === undefined ? '' : stateName(inner)
      return rest === '' ? key : `${key}.${rest}`
    })
    .join('+')
  names.set(value, name)
  return name
}
