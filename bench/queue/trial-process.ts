/** The child process of one trial: opens one contender, measures it, reports, and ends. */
import type { Contestant, OpenContestant, Place } from './contestant.ts'
import { RollCall } from './roll-call.ts'
import { runTrial, type Trial, type TrialSize } from './trial.ts'

export interface TrialOrder {
  /** The file in bench/peers that holds the contender. */
  readonly adapter: string
  readonly place: Omit<Place, 'onStart'>
  readonly size: TrialSize
}

export type TrialReport =
  | { readonly outcome: 'measured'; readonly trial: Trial }
  | { readonly outcome: 'failed'; readonly reason: string }

if (process.send) await answer(JSON.parse(process.argv[2] ?? '') as TrialOrder)

async function answer(order: TrialOrder): Promise<void> {
  const report = await measure(order).catch(
    (error): TrialReport => ({ outcome: 'failed', reason: String(error?.message ?? error) }),
  )
  // The libraries may keep timers and sockets; the figures are complete, so nothing is waited for.
  process.send?.(report, () => process.exit())
}

async function measure({ adapter, place, size }: TrialOrder): Promise<TrialReport> {
  // Named at run time: the peers and their types are installed only when this benchmark runs.
  const { open }: { open: OpenContestant } = await import(`../peers/${adapter}.ts`)
  const rollCall = new RollCall()
  const contestant: Contestant = await open({ ...place, onStart: rollCall.tick })
  const trial = await runTrial(contestant, rollCall, size)
  await contestant.close()
  return { outcome: 'measured', trial }
}
