/**
 * What happened to the nodes of a scenario, in the order in which it was written down, and what must
 * be true of any such history whatever was killed in it.
 */
import {
  finalStates,
  type JobRecord,
  type SettleVerdict,
} from '../../src/runtime/store/job-store.ts'

/** Who wrote it: one process of one node. */
export interface Witness {
  readonly node: string
  readonly life: number
}

export type Deed =
  /** About to be handed in; whether it arrived is not known. */
  | { readonly what: 'submitting'; readonly key: string }
  | { readonly what: 'accepted'; readonly key: string; readonly id: string }
  | { readonly what: 'refused'; readonly code: string; readonly message: string }
  /** Written to the outbox by a stranger, and committed. */
  | { readonly what: 'posted'; readonly key: string }
  | ({ readonly what: 'claimed' } & Claimed)
  | ({ readonly what: 'called' } & Called)
  /** Handed to the store; whether it was committed is not known. */
  | { readonly what: 'settling'; readonly id: string; readonly fence: number; readonly as: string }
  | ({ readonly what: 'settled' } & Settled)
  /** What the runtime tells the world. */
  | { readonly what: 'told'; readonly event: string; readonly about: string }
  /** The process is about to be killed or stopped here. */
  | { readonly what: 'struck'; readonly point: string }
  /** Nothing is left to do in the store. */
  | { readonly what: 'idle' }
  | { readonly what: 'ended' }
  /** The process could not start. */
  | { readonly what: 'failed'; readonly name: string; readonly message: string }

export interface Claimed {
  readonly id: string
  readonly fence: number
  readonly attempt: number
  readonly attemptsMax: number
  readonly crashes: number
}

export interface Called {
  readonly id: string
  readonly type: string
  readonly state: string
  readonly attempt: number
  readonly fence: number
  /** The checkpoint it was given back, or null. */
  readonly given: unknown
}

export interface Settled {
  readonly id: string
  readonly fence: number
  readonly as: string
  readonly verdict: SettleVerdict
}

export type Entry = Witness & Deed
export type EntryOf<What extends Deed['what']> = Entry & { readonly what: What }

/** A job as it stands in the store when everything is over. */
export type Found = Pick<
  JobRecord,
  'id' | 'key' | 'state' | 'attempt' | 'attemptsMax' | 'crashes' | 'fence' | 'error'
>

export function entriesOf<What extends Deed['what']>(
  history: readonly Entry[],
  what: What,
): EntryOf<What>[] {
  return history.filter((entry): entry is EntryOf<What> => entry.what === what)
}

export interface Circumstances {
  /** The order of the states of each type that has several. */
  readonly states: Readonly<Record<string, readonly string[]>>
  /** Snapshots were thrown away on purpose: steps may be repeated, and nothing else. */
  readonly isForgetful?: boolean
}

/** What is wrong, in words; nothing when every promise was kept. */
export function brokenPromises(
  history: readonly Entry[],
  found: readonly Found[],
  circumstances: Circumstances,
): string[] {
  return [
    ...lostJobs(history, found),
    ...inventedJobs(history, found),
    ...unclearEnds(history, found),
    ...fencesReused(history, found),
    ...staleWrites(history),
    ...attemptsTooMany(history, found),
    ...(circumstances.isForgetful ? [] : stepsRepeated(history, circumstances.states)),
  ]
}

/** An accepted job is never lost; one key is one job, however often it was handed in. */
function lostJobs(history: readonly Entry[], found: readonly Found[]): string[] {
  const ids = new Set(found.map(({ id }) => id))
  const keys = new Set(found.map(({ key }) => key))
  const idOf = new Map<string, string>()
  const problems: string[] = []
  for (const { key, id } of entriesOf(history, 'accepted')) {
    if (!ids.has(id)) problems.push(`${id} (${key}) was accepted and is gone`)
    const first = idOf.get(key) ?? id
    if (first !== id) problems.push(`${key} was accepted as ${first} and as ${id}`)
    idOf.set(key, first)
  }
  for (const { key } of entriesOf(history, 'posted'))
    if (!keys.has(key)) problems.push(`${key} was posted and no job came of it`)
  return problems
}

function inventedJobs(history: readonly Entry[], found: readonly Found[]): string[] {
  const asked = new Set(
    [...entriesOf(history, 'submitting'), ...entriesOf(history, 'posted')].map(({ key }) => key),
  )
  const seen = new Set<string | null>()
  return found.flatMap(({ id, key }) => {
    if (key === null || !asked.has(key)) return [`${id} (${key}) was asked for by nobody`]
    if (seen.has(key)) return [`${key} became more than one job`]
    seen.add(key)
    return []
  })
}

/** Every job ends in exactly one final state, and somebody can be named who brought it there. */
function unclearEnds(history: readonly Entry[], found: readonly Found[]): string[] {
  const accepted = Map.groupBy(
    entriesOf(history, 'settled').filter(({ verdict, as }) => verdict === 'settled' && isFinal(as)),
    ({ id }) => id,
  )
  const offered = new Set(
    entriesOf(history, 'settling').map(({ id, fence, as }) => `${id} ${fence} ${as}`),
  )
  return found.flatMap(({ id, state, fence, error }) => {
    if (!isFinal(state)) return [`${id} is still ${state}`]
    const ends = new Set((accepted.get(id) ?? []).map((one) => `${one.as} by fence ${one.fence}`))
    if (ends.size > 1) return [`${id} ended twice: ${[...ends].join(', ')}`]
    const [end] = ends
    if (end !== undefined && end !== `${state} by fence ${fence}`)
      return [`${id} ended as ${end} and is found ${state} with fence ${fence}`]
    const isOfStore = state === 'dead' && endsByCrash.has(error?.code ?? '')
    if (!isOfStore && !offered.has(`${id} ${fence} ${state}`))
      return [`${id} is ${state} with fence ${fence}, and nobody settled it so`]
    return []
  })
}

const endsByCrash = new Set(['job.poison', 'attempts.exhausted'])

/** Each claim has a fence of its own, and the fences of a job rise. */
function fencesReused(history: readonly Entry[], found: readonly Found[]): string[] {
  const claims = Map.groupBy(entriesOf(history, 'claimed'), ({ id }) => id)
  const newest = new Map(found.map(({ id, fence }) => [id, fence]))
  return [...claims].flatMap(([id, ofJob]) => {
    const fences = ofJob.map(({ fence }) => fence)
    const problems: string[] = []
    if (new Set(fences).size < fences.length) problems.push(`${id}: a fence was given twice`)
    // Only within a process: two of them write down what they got in any order.
    for (const ofLife of Map.groupBy(ofJob, ({ node, life }) => `${node} ${life}`).values())
      if (ofLife.some(({ fence }, index) => fence <= (ofLife[index - 1]?.fence ?? 0)))
        problems.push(`${id}: its fences do not rise`)
    const stored = newest.get(id)
    if (stored !== undefined && stored < Math.max(...fences))
      problems.push(`${id}: its fence fell back to ${stored}`)
    return problems
  })
}

/** Nothing is accepted from whoever sent it after a newer claim was known; nothing follows an end. */
function staleWrites(history: readonly Entry[]): string[] {
  const newest = new Map<string, number>()
  const newestWhenSent = new Map<string, number>()
  const endedBy = new Map<string, number>()
  const problems: string[] = []
  for (const entry of history) {
    if (entry.what === 'claimed') {
      newest.set(entry.id, Math.max(entry.fence, newest.get(entry.id) ?? 0))
    } else if (entry.what === 'settling') {
      newestWhenSent.set(sendingOf(entry), newest.get(entry.id) ?? 0)
    } else if (entry.what === 'settled' && entry.verdict !== 'lost') {
      const { id, fence } = entry
      const known = newestWhenSent.get(sendingOf(entry)) ?? 0
      if (known > fence) problems.push(`${id}: fence ${fence} wrote although ${known} was given`)
      if (isFinal(entry.as)) endedBy.set(id, fence)
    }
  }
  for (const { id, fence } of entriesOf(history, 'claimed'))
    if (fence > (endedBy.get(id) ?? Number.POSITIVE_INFINITY))
      problems.push(`${id}: given out with fence ${fence} after its end`)
  return problems
}

function sendingOf({ node, life, id, fence }: Witness & { id: string; fence: number }): string {
  return `${node} ${life} ${id} ${fence}`
}

/** Crashes included. */
function attemptsTooMany(history: readonly Entry[], found: readonly Found[]): string[] {
  const most = new Map(found.map(({ id, attemptsMax }) => [id, attemptsMax]))
  const tries = [...entriesOf(history, 'claimed'), ...entriesOf(history, 'called'), ...found]
  return tries
    .filter(({ id, attempt }) => attempt > (most.get(id) ?? Number.POSITIVE_INFINITY))
    .map(({ id, attempt }) => `${id}: attempt ${attempt} of at most ${most.get(id)}`)
}

/** Once a state has been performed and the next one begun, it is not performed again. */
function stepsRepeated(history: readonly Entry[], states: Circumstances['states']): string[] {
  const reached = new Map<string, number>()
  return entriesOf(history, 'called').flatMap(({ id, type, state }) => {
    const place = states[type]?.indexOf(state) ?? -1
    const furthest = Math.max(place, reached.get(id) ?? -1)
    reached.set(id, furthest)
    return place < furthest
      ? [`${id}: ${state} was performed again after ${states[type]?.[furthest]}`]
      : []
  })
}

function isFinal(state: string): boolean {
  return (finalStates as readonly string[]).includes(state)
}
