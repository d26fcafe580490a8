import { describe, expect, it } from 'vitest'
import type { Label } from '../../src/drawing/label.ts'
import { costOf, faultsOf } from '../../src/drawing/legibility.ts'
import type { Layout, PlacedEdge, PlacedState } from '../../src/drawing/placement.ts'
import type { ChartState, ChartTransition } from '../../src/machines/chart.ts'

it('a plain drawing has no fault', () => {
  expect(faultsOf(plain())).toEqual([])
})

describe('a drawing is hard to read when', () => {
  it('two labels overlap', () => {
    const layout = plain()
    const [first, second] = layout.edges
    if (first && second) second.labels = first.labels.map((each) => ({ ...each }))
    expect(faultsOf(layout)).toContain('label a:GO:0 on label a:GO:0')
  })

  it('a label stands on a state', () => {
    const layout = plain()
    const label = layout.edges[0]?.labels[0]
    if (label) label.box.y = 15
    expect(faultsOf(layout)).toContain('label a:GO:0 on state a')
  })

  it('a label stands on the border of a compound state', () => {
    const layout = plain()
    layout.states.push(placed('outer', 'compound', { x: 45, y: 0, width: 400, height: 400 }))
    expect(faultsOf(layout)).toContain('label a:GO:0 on state outer')
  })

  it('a line runs through a label that is not its own', () => {
    const layout = plain()
    layout.edges[1]?.points.splice(0, 2, { x: 20, y: 110 }, { x: 180, y: 110 })
    expect(faultsOf(layout)).toContain('line b → a through label a:GO:0')
  })

  it('a line runs through a state', () => {
    const layout = plain()
    layout.initials.push({
      parent: '',
      target: 'b',
      dot: { x: 0, y: 0, width: 10, height: 10 },
      points: [
        { x: 25, y: 0 },
        { x: 25, y: 200 },
      ],
    })
    expect(faultsOf(layout)).toContain('line first of  through state a')
  })

  it('a line has lost its label', () => {
    const layout = plain()
    const label = layout.edges[0]?.labels[0]
    if (label) label.box.x = 300
    expect(faultsOf(layout)).toContain('line a → b away from its labels')
  })

  it('two lines run so close that they look like one', () => {
    const layout = plain()
    layout.edges[1]?.points.splice(0, 2, { x: 52, y: 200 }, { x: 52, y: 40 })
    expect(faultsOf(layout)).toContain('line a → b too close to line b → a')
  })

  it('two states overlap', () => {
    const layout = plain()
    layout.states.push(placed('c', 'atomic', { x: 90, y: 30, width: 100, height: 30 }))
    expect(faultsOf(layout)).toContain('state c on state a')
  })
})

describe('of two layouts without a fault', () => {
  it('the one with fewer crossings is better', () => {
    const crossed = plain()
    const line = { source: 'a', target: 'b', backwards: false, transitions: [], labels: [] }
    const straight = { ...line, points: [p(20, 60), p(300, 60)] }
    crossed.edges.push(straight)
    const apart = plain()
    apart.edges.push({ ...straight, points: [p(200, 60), p(480, 60)] })
    expect(faultsOf(crossed)).toEqual([])
    expect(costOf(crossed)).toBeGreaterThan(costOf(apart))
  })

  it('the one that fits a screen is better than the one that is endlessly wide', () => {
    const [wide, square] = [plain(), plain()]
    wide.width = 1600
    wide.height = 400
    square.width = 800
    square.height = 800
    expect(costOf(wide)).toBeGreaterThan(costOf(square))
  })
})

/** Two states one below the other, and two labelled lines between them. */
function plain(): Layout {
  return {
    width: 500,
    height: 500,
    states: [
      placed('a', 'atomic', { x: 10, y: 10, width: 130, height: 30 }),
      placed('b', 'atomic', { x: 10, y: 200, width: 130, height: 30 }),
    ],
    edges: [
      edge('a', 'b', 'GO', [p(50, 40), p(50, 200)], { x: 30, y: 100, width: 40, height: 16 }),
      edge('b', 'a', 'BACK', [p(110, 200), p(110, 40)], { x: 90, y: 100, width: 40, height: 16 }),
    ],
    initials: [],
  }
}

function p(x: number, y: number) {
  return { x, y }
}

function placed(id: string, kind: ChartState['kind'], box: PlacedState['box']): PlacedState {
  const state = { id, key: id, parent: '', kind, initial: null, description: '' }
  return {
    state: { ...state, tags: [], entry: [], exit: [] },
    box,
    header: { ...box, height: 30 },
    internal: [],
  }
}

function edge(
  source: string,
  target: string,
  event: string,
  points: PlacedEdge['points'],
  box: PlacedState['box'],
): PlacedEdge {
  const transition: ChartTransition = {
    id: `${source}:${event}:0`,
    source,
    targets: [target],
    kind: 'event',
    event,
    guard: '',
    actions: [],
    reenter: false,
    description: '',
  }
  const { width, height } = box
  const label: Label = { transition, event, guard: '', stacked: false, width, height }
  return {
    source,
    target,
    backwards: false,
    points,
    transitions: [transition],
    labels: [{ label, box }],
  }
}
