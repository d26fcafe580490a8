import {
  around,
  type Box,
  boxOf,
  contains,
  crossing,
  crowding,
  overlap,
  type Point,
  segmentsOf,
} from './geometry.ts'
import { hasRoom, type Layout, type PlacedState } from './placement.ts'

/**
 * What would make a drawing hard to read, in words; empty for every drawing we publish. Lines may
 * cross each other, but nothing may be written on top of anything else.
 */
export function faultsOf(layout: Layout): string[] {
  return [
    ...labelFaults(layout),
    ...lineFaults(layout),
    ...crowdFaults(layout),
    ...boxFaults(layout),
  ]
}

/** Lower reads better. A fault outweighs everything, then come crossings, shape and size. */
export function costOf(layout: Layout): number {
  const { width, height } = layout
  const segments = linesOf(layout).flatMap(({ points }) => segmentsOf(points))
  const crossings = segments.flatMap((a, index) =>
    segments.slice(index + 1).filter((b) => crossing(a, b)),
  )
  const lengthPx = segments.map(boxOf).reduce((sum, box) => sum + box.width + box.height, 0)
  const stretch = Math.max(width / height, height / width)
  return (
    faultsOf(layout).length * 1_000_000 +
    layout.edges.filter((edge) => edge.backwards).length * backwardsCost +
    Math.max(0, stretch - stretchMax) * 10_000 +
    crossings.length * 100 +
    segments.length * 5 +
    lengthPx / 10 +
    (width * height) / 2_000
  )
}

const lineGap = 6
const stretchMax = 1.8
const backwardsCost = 150

function linesOf({ edges, initials }: Layout) {
  return [
    ...edges.map(({ source, target, points }) => ({ name: `${source} → ${target}`, points })),
    ...initials.map(({ parent, points }) => ({ name: `first of ${parent}`, points })),
  ]
}

function labelFaults({ edges, states }: Layout): string[] {
  const labels = edges.flatMap((edge) => edge.labels)
  return labels.flatMap(({ label, box }, index) => {
    const name = `label ${label.transition.id}`
    const others = labels.slice(index + 1).filter((other) => overlap(box, other.box))
    const hit = states.filter((placed) => overlap(box, wordsOf(placed)) || cut(box, placed.box))
    return [
      ...others.map((other) => `${name} on label ${other.label.transition.id}`),
      ...hit.map(({ state }) => `${name} on state ${state.id}`),
    ]
  })
}

function lineFaults(layout: Layout): string[] {
  return linesOf(layout).flatMap(({ name, points }, index) => {
    const pieces = segmentsOf(points).map(boxOf)
    const own = layout.edges[index]?.labels ?? []
    const labels = layout.edges.flatMap((edge) => edge.labels)
    const meets = (box: Box) => pieces.some((piece) => overlap(piece, box))
    const crossed = labels.filter((each) => !own.includes(each) && meets(each.box))
    const hit = layout.states.filter((placed) => meets(wordsOf(placed)))
    const isAstray = own.length > 0 && !meets(around(own.map(({ box }) => box)))
    return [
      ...crossed.map(({ label }) => `line ${name} through label ${label.transition.id}`),
      ...hit.map(({ state }) => `line ${name} through state ${state.id}`),
      ...(isAstray ? [`line ${name} away from its labels`] : []),
    ]
  })
}

function crowdFaults(layout: Layout): string[] {
  const lines = linesOf(layout)
  return lines.flatMap((line, index) =>
    lines
      .slice(index + 1)
      .filter((other) => areCrowded(line.points, other.points))
      .map((other) => `line ${line.name} too close to line ${other.name}`),
  )
}

function areCrowded(points: readonly Point[], others: readonly Point[]): boolean {
  return segmentsOf(points).some((a) => segmentsOf(others).some((b) => crowding(a, b, lineGap)))
}

function boxFaults({ states }: Layout): string[] {
  return states.flatMap((placed, index) =>
    states
      .slice(index + 1)
      .filter(({ box }) => overlap(box, wordsOf(placed)) || cut(box, placed.box))
      .map(({ state }) => `state ${state.id} on state ${placed.state.id}`),
  )
}

/** Where nothing else may be: the whole of a state, or its own words if it has room for others. */
function wordsOf({ state, box, header }: PlacedState): Box {
  return hasRoom(state) ? header : box
}

function cut(box: Box, outer: Box): boolean {
  return overlap(box, outer) && !contains(outer, box)
}
