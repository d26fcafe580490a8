import { describe, expect, it } from 'vitest'
import { labelsWidth } from '../../src/drawing/label.ts'
import { layoutOf } from '../../src/drawing/layout.ts'
import { faultsOf } from '../../src/drawing/legibility.ts'
import type { Layout, PlacedState } from '../../src/drawing/placement.ts'
import { chartOf } from '../../src/machines/chart.ts'
import { awkwardlyNamed, jobLike, limiterLike, parallelLike } from './fixture-machines.ts'

const drawn = await Promise.all(
  [limiterLike, jobLike, parallelLike, awkwardlyNamed].map(async (machine) => {
    const chart = chartOf(machine)
    return { id: machine.id, chart, layout: await layoutOf(chart) }
  }),
)

describe.each(drawn)('the layout of $id', ({ chart, layout }) => {
  it('has nothing on top of anything else', () => {
    expect(faultsOf(layout)).toEqual([])
  })

  it('gives no two boxes of words the same place', () => {
    const words = [
      ...layout.edges.flatMap((edge) => edge.labels.map(({ box }) => box)),
      ...layout.states
        .filter(({ state }) => !chart.states.some(({ parent }) => parent === state.id))
        .map(({ box }) => box),
    ]
    for (const [index, a] of words.entries()) {
      for (const b of words.slice(index + 1)) {
        const isApart =
          a.x + a.width <= b.x ||
          b.x + b.width <= a.x ||
          a.y + a.height <= b.y ||
          b.y + b.height <= a.y
        expect(isApart, `${JSON.stringify(a)} and ${JSON.stringify(b)}`).toBe(true)
      }
    }
  })

  it('places every state once and every transition either on a line or inside its state', () => {
    expect(layout.states.map(({ state }) => state.id)).toEqual(chart.states.map(({ id }) => id))
    const onLines = layout.edges.flatMap((edge) => edge.labels)
    const inside = layout.states.flatMap((placed) => placed.internal)
    const ids = [...onLines, ...inside].map(({ label }) => label.transition.id)
    expect(new Set(ids)).toEqual(new Set(chart.transitions.map(({ id }) => id)))
    const targets = chart.transitions.map((transition) => Math.max(1, transition.targets.length))
    expect(ids).toHaveLength(targets.reduce((sum, each) => sum + each, 0))
  })

  it('lets every line begin at its source and end at its target', () => {
    for (const { source, target, points } of layout.edges) {
      expect(touches(points[0], stateOf(layout, source)), `${source} →`).toBe(true)
      expect(touches(points.at(-1), stateOf(layout, target)), `→ ${target}`).toBe(true)
    }
  })

  it('keeps children inside their parents and everything inside the paper', () => {
    for (const { state, box } of layout.states) {
      const outer =
        state.parent === null
          ? { x: 0, y: 0, width: layout.width, height: layout.height }
          : stateOf(layout, state.parent).box
      expect(box.x).toBeGreaterThan(outer.x)
      expect(box.y).toBeGreaterThan(outer.y)
      expect(box.x + box.width).toBeLessThan(outer.x + outer.width)
      expect(box.y + box.height).toBeLessThan(outer.y + outer.height)
    }
  })

  it('makes every box wide enough for the transitions listed in it', () => {
    for (const { box, internal } of layout.states) {
      const labels = internal.map(({ label }) => label)
      expect(box.width).toBeGreaterThan(labelsWidth(labels))
    }
  })

  it('has a shape that fits a screen', () => {
    const stretch = Math.max(layout.width / layout.height, layout.height / layout.width)
    expect(stretch).toBeLessThan(2.2)
  })
})

describe('a layout', () => {
  it('tells the story from its beginning: the initial state comes first', () => {
    const top = (id: string) => stateOf(layoutNamed('limiter'), id).box.y
    const others = ['flowing', 'pacing', 'cooling', 'paused'].map(top)
    expect(top('idle')).toBeLessThan(Math.min(...others))
  })

  it('draws one line for all transitions between the same two states', () => {
    const line = layoutNamed('limiter').edges.filter(
      ({ source, target }) => source === 'flowing' && target === 'idle',
    )
    expect(line.map(({ labels }) => labels.map(({ label }) => label.event))).toEqual([
      ['RELEASED', 'PERMIT_EXPIRED'],
    ])
  })
})

function layoutNamed(id: string): Layout {
  const found = drawn.find((each) => each.id === id)
  if (!found) throw new Error(`no machine ${id}`)
  return found.layout
}

function stateOf(layout: Layout, id: string): PlacedState {
  const found = layout.states.find(({ state }) => state.id === id)
  if (!found) throw new Error(`no state ${id}`)
  return found
}

/** On the border, or on the rule below the state's own words. */
function touches(point: { x: number; y: number } | undefined, placed: PlacedState): boolean {
  if (!point) return false
  const { box, header } = placed
  const [right, bottom] = [box.x + box.width, box.y + box.height]
  const isWithin = point.x >= box.x && point.x <= right && point.y >= box.y && point.y <= bottom
  return (
    isWithin &&
    ([box.x, right].includes(point.x) || [box.y, bottom, box.y + header.height].includes(point.y))
  )
}
