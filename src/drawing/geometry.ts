export interface Point {
  x: number
  y: number
}

export interface Box extends Point {
  width: number
  height: number
}

export type Segment = readonly [from: Point, to: Point]

export function segmentsOf(points: readonly Point[]): Segment[] {
  return points.slice(1).map((to, index) => [points[index] ?? to, to])
}

export function overlap(a: Box, b: Box): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
}

export function contains(outer: Box, inner: Box): boolean {
  return (
    outer.x <= inner.x &&
    outer.y <= inner.y &&
    inner.x + inner.width <= outer.x + outer.width &&
    inner.y + inner.height <= outer.y + outer.height
  )
}

/** The smallest box around all others. */
export function around(boxes: readonly Box[]): Box {
  const x = Math.min(...boxes.map((box) => box.x))
  const y = Math.min(...boxes.map((box) => box.y))
  return {
    x,
    y,
    width: Math.max(...boxes.map((box) => box.x + box.width)) - x,
    height: Math.max(...boxes.map((box) => box.y + box.height)) - y,
  }
}

/** Lines are horizontal or vertical, so a segment is a box without width or without height. */
export function boxOf([from, to]: Segment): Box {
  return {
    x: Math.min(from.x, to.x),
    y: Math.min(from.y, to.y),
    width: Math.abs(from.x - to.x),
    height: Math.abs(from.y - to.y),
  }
}

/** True when a vertical and a horizontal segment meet in a point inside both. */
export function crossing(a: Segment, b: Segment): boolean {
  const [first, second] = [boxOf(a), boxOf(b)]
  if ((first.width === 0) === (second.width === 0)) return false
  const [vertical, horizontal] = first.width === 0 ? [first, second] : [second, first]
  return (
    horizontal.x < vertical.x &&
    vertical.x < horizontal.x + horizontal.width &&
    vertical.y < horizontal.y &&
    horizontal.y < vertical.y + vertical.height
  )
}

/** True when two segments run side by side closer than the gap, so that the eye loses one of them. */
export function crowding(a: Segment, b: Segment, gap: number): boolean {
  const [first, second] = [boxOf(a), boxOf(b)]
  if ((first.width === 0) !== (second.width === 0)) return false
  const halo =
    first.width === 0
      ? { ...first, x: first.x - gap, width: 2 * gap }
      : { ...first, y: first.y - gap, height: 2 * gap }
  return overlap(halo, second)
}
