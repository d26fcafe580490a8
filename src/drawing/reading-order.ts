import type { Chart } from '../machines/chart.ts'

/**
 * Which way a drawing flows. A layered layout has to point some lines of every circle backwards;
 * left to itself it turns as few as it can, and readers find the first state at the bottom.
 * Here every line follows the order in which states are told.
 */
export type Order = 'document' | 'distance'

/** True when the line from source to target should run against the flow. */
export type Backwards = (source: string, target: string) => boolean

export function backwardsIn(chart: Chart, order: Order): Backwards {
  const ranks = order === 'document' ? documentRanks(chart) : distanceRanks(chart)
  return (source, target) => {
    const [from, to] = siblings(source, target)
    return (ranks.get(from) ?? 0) > (ranks.get(to) ?? 0)
  }
}

function documentRanks({ states }: Chart): Map<string, number> {
  return new Map(states.map((state, index) => [state.id, index]))
}

/** Steps from the initial sibling; the document's order breaks ties and ranks what is never reached. */
function distanceRanks(chart: Chart): Map<string, number> {
  const ranks = new Map<string, number>()
  const visit = (ids: readonly string[]) => {
    const found = ids.filter((id) => !ranks.has(id))
    for (const id of found) ranks.set(id, ranks.size)
    if (found.length > 0) visit(found.flatMap((id) => successors(chart, id)))
  }
  visit(chart.states.flatMap((state) => state.initial ?? []))
  visit(chart.states.map((state) => state.id))
  return ranks
}

function successors({ transitions }: Chart, id: string): string[] {
  return transitions
    .flatMap(({ source, targets }) => targets.map((target) => siblings(source, target)))
    .flatMap(([from, to]) => (from === id ? [to] : []))
}

/** The two states, or those around them, that have the same parent. */
export function siblings(source: string, target: string): [string, string] {
  const [from, to] = [source.split('.'), target.split('.')]
  const depth = from.findIndex((key, index) => key !== to[index])
  const end = depth === -1 ? from.length : depth + 1
  return [from.slice(0, end).join('.'), to.slice(0, end).join('.')]
}
