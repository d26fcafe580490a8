import type { Box, Point } from '../../src/drawing/geometry.ts'
import type { Layout, PlacedEdge, PlacedState } from '../../src/drawing/placement.ts'
import type { ChartState, ChartTransition } from '../../src/machines/chart.ts'

/** Two states one below the other, and two labelled lines between them: nothing wrong with it. */
export function plainLayout(): Layout {
  return {
    width: 500,
    height: 500,
    states: [
      placed('a', 'atomic', { x: 10, y: 10, width: 130, height: 30 }),
      placed('b', 'atomic', { x: 10, y: 200, width: 130, height: 30 }),
    ],
    edges: [
      edge('a', 'b', 'GO', [at(50, 40), at(50, 200)], { x: 30, y: 100, width: 40, height: 16 }),
      edge('b', 'a', 'BACK', [at(110, 200), at(110, 40)], { x: 90, y: 100, width: 40, height: 16 }),
    ],
    initials: [],
  }
}

export function at(x: number, y: number): Point {
  return { x, y }
}

export function placed(id: string, kind: ChartState['kind'], box: Box): PlacedState {
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
  points: Point[],
  box: Box,
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
  const label = { transition, event, guard: '', stacked: false, width, height }
  return {
    source,
    target,
    backwards: false,
    points,
    transitions: [transition],
    labels: [{ label, box }],
  }
}
