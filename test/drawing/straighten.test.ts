import { describe, expect, it } from 'vitest'
import type { Layout } from '../../src/drawing/placement.ts'
import { straighten } from '../../src/drawing/straighten.ts'
import { at, plainLayout } from './plain-layout.ts'

describe('a line with a small jog', () => {
  it('before its target becomes straight', () => {
    const layout = withLine([at(50, 40), at(50, 190), at(58, 190), at(58, 200)])
    expect(straighten(layout).edges[0]?.points).toEqual([at(50, 40), at(50, 200)])
  })

  it('after its source keeps the rest of its way', () => {
    const way = [at(62, 180), at(30, 180), at(30, 200)]
    const layout = withLine([at(50, 40), at(50, 60), at(62, 60), ...way])
    expect(straighten(layout).edges[0]?.points).toEqual([at(62, 40), ...way])
  })

  it('keeps it where the straight line would come too close to another', () => {
    const jogged = [at(50, 40), at(50, 60), at(64, 60), at(64, 180), at(30, 180), at(30, 200)]
    const layout = withLine(jogged)
    layout.initials.push({
      parent: '',
      target: 'a',
      dot: { x: 60, y: 0, width: 10, height: 10 },
      points: [at(66, 10), at(66, 40)],
    })
    expect(straighten(layout).edges[0]?.points).toEqual(jogged)
  })

  it('keeps it where the straight line would start at the corner of its box', () => {
    const jogged = [at(26, 40), at(26, 60), at(14, 60), at(14, 150), at(60, 150), at(60, 200)]
    expect(straighten(withLine(jogged)).edges[0]?.points).toEqual(jogged)
  })

  it('keeps it where the straight line would leave its label behind', () => {
    const jogged = [at(34, 40), at(34, 150), at(22, 150), at(22, 180), at(60, 180), at(60, 200)]
    expect(straighten(withLine(jogged)).edges[0]?.points).toEqual(jogged)
  })
})

it('a wide bend is no jog', () => {
  const bent = [at(50, 40), at(50, 150), at(90, 150), at(90, 200)]
  expect(straighten(withLine(bent)).edges[0]?.points).toEqual(bent)
})

function withLine(points: { x: number; y: number }[]): Layout {
  const layout = plainLayout()
  return { ...layout, edges: layout.edges.slice(0, 1).map((edge) => ({ ...edge, points })) }
}
