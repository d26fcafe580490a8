import type { ElkNode, LayoutOptions } from 'elkjs/lib/elk.bundled.js'
import elk from 'elkjs/lib/elk.bundled.js'
import type { Chart, ChartState, ChartTransition } from '../machines/chart.ts'
import {
  dotEdgeId,
  dotId,
  type GraphEdge,
  graphOf,
  headerSize,
  inset,
  internalLabels,
  isInward,
  labelMargin,
  stateNodeId,
  titleHeight,
} from './elk-graph.ts'
import type { Box, Point } from './geometry.ts'
import { type PlacedLabel, stackLabels } from './label.ts'
import type { Backwards } from './reading-order.ts'

/** A chart with a place for everything, in pixels from the upper left corner. */
export interface Layout {
  width: number
  height: number
  states: PlacedState[]
  edges: PlacedEdge[]
  initials: PlacedInitial[]
}

export interface PlacedState {
  state: ChartState
  box: Box
  /** The room of title and internal transitions; the children of a compound state avoid it. */
  header: Box
  internal: PlacedLabel[]
}

/** Compound and parallel states have room for others below their own words. */
export function hasRoom({ kind }: ChartState): boolean {
  return kind === 'compound' || kind === 'parallel'
}

/** All transitions from one state to another share one line, their labels stacked upon it. */
export interface PlacedEdge {
  source: string
  target: string
  /** Against the flow of the drawing. */
  backwards: boolean
  points: Point[]
  transitions: ChartTransition[]
  labels: PlacedLabel[]
}

/** A dot, and the arrow from it to the child that is entered first. */
export interface PlacedInitial {
  parent: string
  target: string
  dot: Box
  points: Point[]
}

/** One layout of the chart, as ELK makes it with these options. */
export async function place(
  chart: Chart,
  options: LayoutOptions,
  backwards: Backwards,
): Promise<Layout> {
  const graph = graphOf(chart, options, backwards)
  const drawn = await new elk.default().layout(graph.root)
  const boxes = boxesOf(drawn)
  const box = (id: string) => found(boxes.get(id), id)
  const lines = linesOf(drawn)
  const line = (id: string) => found(lines.get(id), id)

  const states = chart.states.map((state) => placedState(state, chart, box(stateNodeId(state.id))))
  return {
    width: Math.ceil(drawn.width ?? 0),
    height: Math.ceil(drawn.height ?? 0),
    states,
    edges: graph.edges.map((edge) => placedEdge(edge, line(edge.id), states)),
    initials: chart.states.flatMap(({ id, initial }) =>
      initial === null
        ? []
        : [
            {
              parent: id,
              target: initial,
              dot: box(dotId(id)),
              points: line(dotEdgeId(id)).points,
            },
          ],
    ),
  }
}

function placedState(state: ChartState, chart: Chart, box: Box): PlacedState {
  const labels = internalLabels(state, chart)
  return {
    state,
    box,
    header: { x: box.x, y: box.y, ...headerSize(state, chart) },
    internal: stackLabels(labels, { x: box.x + inset, y: box.y + titleHeight + inset / 2 }, 'left'),
  }
}

function placedEdge(edge: GraphEdge, line: Line, states: readonly PlacedState[]): PlacedEdge {
  const { source, target, transitions, labels, backwards } = edge
  const points = backwards ? line.points.toReversed() : line.points
  const outer = states.find(({ state }) => state.id === source)
  return {
    source,
    target,
    transitions,
    backwards,
    points: outer && isInward(edge) ? fromBorder(points, outer) : points,
    labels: stackLabels(labels, line.labelAt, 'centre'),
  }
}

/** An inward line begins at the rule below the state's own words, or at its left border. */
function fromBorder([origin, next, ...rest]: Point[], { box, header }: PlacedState): Point[] {
  if (!origin || !next) return []
  const border =
    origin.x === next.x ? { x: origin.x, y: box.y + header.height } : { x: box.x, y: origin.y }
  return [border, next, ...rest]
}

interface Line {
  points: Point[]
  labelAt: Point
}

function boxesOf(node: ElkNode): Map<string, Box> {
  const { id, x = 0, y = 0, width = 0, height = 0, children = [] } = node
  return new Map([
    [id, rounded({ x, y, width, height })],
    ...children.flatMap((child) => [...boxesOf(child)]),
  ])
}

function linesOf(root: ElkNode): Map<string, Line> {
  return new Map(
    (root.edges ?? []).map(({ id, sections = [], labels = [] }) => {
      const points = sections.flatMap(({ startPoint, bendPoints = [], endPoint }) =>
        [startPoint, ...bendPoints, endPoint].map(({ x, y }) => ({ x: round(x), y: round(y) })),
      )
      const { x = 0, y = 0 } = labels[0] ?? {}
      return [id, { points, labelAt: { x: round(x) + labelMargin, y: round(y) + labelMargin } }]
    }),
  )
}

/** Corners are rounded, not sizes: a line that ends at a border must still end there. */
function rounded({ x, y, width, height }: Box): Box {
  const [left, top] = [round(x), round(y)]
  return { x: left, y: top, width: round(x + width) - left, height: round(y + height) - top }
}

/** Half pixels are fine enough to look straight and coarse enough to be the same everywhere. */
function round(value: number): number {
  return Math.round(value * 2) / 2
}

function found<T>(value: T | undefined, id: string): T {
  if (value === undefined) throw new Error(`ELK lost "${id}"`)
  return value
}
