import { type Box, boxOf, overlap, type Point, segmentsOf } from './geometry.ts'
import { faultsOf } from './legibility.ts'
import type { Layout, PlacedEdge } from './placement.ts'

const jogMax = 16
const cornerGap = 12
const endGap = 10

/**
 * ELK fixes where a line leaves a box before it knows where the line will run, and bridges the
 * difference with a jog of a few pixels. Here such an end moves along the border instead,
 * wherever that leaves room for its neighbours and makes nothing harder to read.
 */
export function straighten(layout: Layout): Layout {
  let best = layout
  for (const index of layout.edges.keys()) {
    for (const end of ['source', 'target'] as const) {
      const next = withStraightEnd(best, index, end)
      if (next && faultsOf(next).length <= faultsOf(best).length) best = next
    }
  }
  return best
}

function withStraightEnd(layout: Layout, index: number, end: 'source' | 'target'): Layout | null {
  const edge = layout.edges[index]
  const box = layout.states.find(({ state }) => state.id === edge?.[end])?.box
  if (!edge || !box) return null
  const before = end === 'source' ? edge.points : edge.points.toReversed()
  const points = straightStart(before)
  if (!points?.[0] || isNearCorner(points[0], box) || isTaken(points[0], layout, index)) return null
  if (carriesLabel(before, edge)) return null
  const straight = { ...edge, points: end === 'source' ? points : points.toReversed() }
  return { ...layout, edges: layout.edges.with(index, straight) }
}

/** The line without the jog at its start; null when there is none. */
function straightStart([start, corner, next, ...rest]: readonly Point[]): Point[] | null {
  const after = rest[0]
  if (!start || !corner || !next || !after) return null
  const jog = Math.abs(corner.x - next.x) + Math.abs(corner.y - next.y)
  const isUpright = start.x === corner.x && next.x === after.x
  const isLevel = start.y === corner.y && next.y === after.y
  if (jog > jogMax || isUpright === isLevel) return null
  return [isUpright ? { x: next.x, y: start.y } : { x: start.x, y: next.y }, ...rest]
}

/** Where the words hang on the piece before the jog, that piece must stay. */
function carriesLabel(points: readonly Point[], { labels }: PlacedEdge): boolean {
  const pieces = segmentsOf(points.slice(0, 2)).map(boxOf)
  return labels.some(({ box }) => pieces.some((piece) => overlap(piece, box)))
}

function isNearCorner({ x, y }: Point, box: Box): boolean {
  const fromSide = Math.min(x - box.x, box.x + box.width - x)
  const fromTop = Math.min(y - box.y, box.y + box.height - y)
  return Math.max(fromSide, fromTop) < cornerGap
}

function isTaken({ x, y }: Point, { edges, initials }: Layout, index: number): boolean {
  const lines = [...edges.toSpliced(index, 1), ...initials]
  const ends = lines.flatMap(({ points }) => [...points.slice(0, 1), ...points.slice(-1)])
  return ends.some((end) => Math.abs(end.x - x) + Math.abs(end.y - y) < endGap)
}
