/**
 * Replays a path on a live host that is killed after every step. After each kill a new host starts
 * from the store; what it restored must be what was there before, and what it made of RESUMED must
 * be what the machine alone makes of it.
 */
import { isDeepStrictEqual } from 'node:util'
import { ActorHost } from '../actors/host.ts'
import { MemorySnapshots } from '../actors/memory-snapshots.ts'
import type { Letter, MachineSnapshot, StampedEvent, Statechart } from '../actors/statechart.ts'
import { stateName } from '../actors/statechart.ts'
import { VirtualClock } from '../actors/virtual-clock.ts'
import type { ProofSpec } from './proof-spec.ts'
import type { Path } from './walk.ts'

export interface Replay {
  readonly crashes: number
  /** Empty when everything was as foretold. */
  readonly differences: readonly string[]
}

const KEY = 'a'

export function replayWithCrashes(chart: Statechart, spec: ProofSpec, path: Path): Replay {
  const clock = new VirtualClock(spec.startAt)
  const snapshots = new MemorySnapshots()
  const differences: string[] = []
  let crashes = 0

  /** A process on this store: the actor in it goes on from whatever is there. */
  const startHost = () => {
    const host = new ActorHost({
      clock,
      chance: () => rollNow,
      snapshots,
      limits: { snapshotDelayMs: 0 },
    })
    const actors = host.register<Letter, Letter>({
      name: 'proof',
      chart: () => chart,
      perform: () => {},
      isDurable: true,
    })
    actors.start(KEY, { input: spec.input })
    clock.settle()
    return { host, actors }
  }

  let rollNow = 0
  let process = startHost()
  let foretold = begun(chart, spec, clock.now())
  let saved: MachineSnapshot | undefined = checkpointed(foretold)

  for (const [index, event] of path.events.entries()) {
    rollNow = event.roll
    // After a crash deadlines may lie elsewhere than on the path: both sides keep their own.
    foretold = withDeadlinesKept(chart, copied(chart, foretold), event)
    clock.advanceTo(event.at)
    if (event.type !== 'DUE') {
      foretold = chart.step(foretold, event).snapshot
      process.actors.send(KEY, event)
      clock.settle()
    }
    const where = () => `step ${index + 1} of ${described(path)}`
    if (foretold.status === 'done') {
      if (process.actors.size > 0) differences.push(`${where()}: it should have ended`)
      break
    }
    compare(chart, foretold, process.actors.peek(KEY), `${where()}, before the crash`, differences)

    clock.advance(0)
    process.host.halt()
    crashes++
    process = startHost()
    saved = checkpointed(foretold) ?? saved
    if (saved && !isRestoredExactly(chart, saved))
      differences.push(`${where()}: '${stateName(saved.value)}' is not restored as it was`)
    foretold = saved
      ? resumed(chart, spec, copied(chart, saved), event)
      : begun(chart, spec, clock.now())
    compare(chart, foretold, process.actors.peek(KEY), `${where()}, after the crash`, differences)
    if (differences.length > 0) break
  }
  process.host.halt()
  return { crashes, differences }
}

function begun(chart: Statechart, spec: ProofSpec, at: number): MachineSnapshot {
  return chart.begin({ ...spec.input, at, roll: 0 }).snapshot
}

/** Only states with this tag are kept; a crash in another falls back to the last one that was. */
function checkpointed(snapshot: MachineSnapshot): MachineSnapshot | undefined {
  return snapshot.tags.has('checkpoint') ? snapshot : undefined
}

function resumed(
  chart: Statechart,
  spec: ProofSpec,
  snapshot: MachineSnapshot,
  { at, roll }: StampedEvent,
): MachineSnapshot {
  if (!chart.accepts.has('RESUMED')) return snapshot
  const event = { type: 'RESUMED', input: spec.input, at, roll }
  return chart.step(snapshot, event).snapshot
}

function withDeadlinesKept(
  chart: Statechart,
  snapshot: MachineSnapshot,
  { at, roll }: StampedEvent,
): MachineSnapshot {
  for (;;) {
    const { dueAt } = snapshot.context as { dueAt: number | null }
    if (dueAt === null || dueAt > at || snapshot.status !== 'active') return snapshot
    const next = chart.step(snapshot, { type: 'DUE', at: dueAt, roll }).snapshot
    if (next.context.dueAt === dueAt) return next
    snapshot = next
  }
}

/** Through JSON, as a store would have it. */
function copied(chart: Statechart, snapshot: MachineSnapshot): MachineSnapshot {
  return chart.restore(JSON.parse(JSON.stringify(chart.persist(snapshot))))
}

/**
 * Nothing is lost on the way through a store: JSON drops what it cannot write, and XState what it
 * cannot find again, both without a word, and in our own copy just as on the host.
 */
function isRestoredExactly(chart: Statechart, snapshot: MachineSnapshot): boolean {
  return isDeepStrictEqual(chart.persist(snapshot), chart.persist(copied(chart, snapshot)))
}

function compare(
  chart: Statechart,
  foretold: MachineSnapshot,
  found: MachineSnapshot | undefined,
  where: string,
  differences: string[],
): void {
  if (!found) {
    if (foretold.tags.has('asleep')) return
    differences.push(`${where}: foretold '${stateName(foretold.value)}', found nothing`)
    return
  }
  const wanted = JSON.parse(JSON.stringify(chart.persist(foretold)))
  const seen = JSON.parse(JSON.stringify(chart.persist(found)))
  if (!isDeepStrictEqual(wanted, seen))
    differences.push(`${where}: foretold ${JSON.stringify(wanted)}, found ${JSON.stringify(seen)}`)
}

function described({ events }: Path): string {
  return events.map(({ type, at }) => `${type}@${at}`).join(' → ')
}
