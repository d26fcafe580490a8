import { type Box, type Point, segmentsOf } from './geometry.ts'

const cornerRadius = 7
const headLength = 9
const headHalfWidth = 3.5

/** The pieces of a line that lie outside the box: a line stops before its label and goes on after. */
export function outside(points: readonly Point[], box: Box | null): Point[][] {
  const pieces: Point[][] = []
  let piece = points.slice(0, 1)
  for (const [from, to] of segmentsOf(points)) {
    const inside = box && clip(from, to, box)
    if (inside) {
      pieces.push([...piece, inside.enter])
      piece = [inside.leave]
    }
    piece.push(to)
  }
  return [...pieces, piece].filter((each) => lengthOf(each) > 0)
}

/** The path of a line with round corners, and of the arrow head at its end. */
export function linePath(points: readonly Point[]): string {
  const steps = points.map((point, index) => {
    const [before, after] = [points[index - 1], points[index + 1]]
    if (!before) return `M${at(point)}`
    if (!after) return `L${at(point)}`
    const radius = Math.min(
      cornerRadius,
      lengthOf([before, point]) / 2,
      lengthOf([point, after]) / 2,
    )
    return `L${at(towards(point, before, radius))}Q${at(point)} ${at(towards(point, after, radius))}`
  })
  return steps.join('')
}

export function arrowHead(points: readonly Point[]): string {
  const [before, tip] = points.slice(-2)
  if (!before || !tip) return ''
  const base = towards(tip, before, headLength)
  const [dx, dy] = [(tip.y - base.y) / headLength, (tip.x - base.x) / headLength]
  const wing = (side: number) => ({
    x: base.x + side * dx * headHalfWidth,
    y: base.y + side * dy * headHalfWidth,
  })
  return `M${at(tip)}L${at(wing(1))}L${at(wing(-1))}Z`
}

/** A line that ends where its arrow head begins: a thick line would blunt the tip. */
export function beforeHead(points: readonly Point[]): Point[] {
  const [before, tip] = points.slice(-2)
  if (!before || !tip) return [...points]
  const reach = Math.min(headLength - 1, lengthOf([before, tip]))
  return [...points.slice(0, -1), towards(tip, before, reach)]
}

function clip(from: Point, to: Point, box: Box): { enter: Point; leave: Point } | null {
  const clamp = (point: Point): Point => ({
    x: Math.min(Math.max(point.x, box.x), box.x + box.width),
    y: Math.min(Math.max(point.y, box.y), box.y + box.height),
  })
  const [enter, leave] = [clamp(from), clamp(to)]
  const misses = from.x === to.x ? enter.x !== from.x : enter.y !== from.y
  return misses || lengthOf([enter, leave]) === 0 ? null : { enter, leave }
}

function towards(from: Point, to: Point, distance: number): Point {
  const length = lengthOf([from, to])
  if (length === 0) return from
  const share = distance / length
  return { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share }
}

function lengthOf(points: readonly Point[]): number {
  return segmentsOf(points).reduce(
    (sum, [from, to]) => sum + Math.abs(from.x - to.x) + Math.abs(from.y - to.y),
    0,
  )
}

function at({ x, y }: Point): string {
  return `${decimal(x)} ${decimal(y)}`
}

function decimal(value: number): number {
  return Math.round(value * 100) / 100
}
