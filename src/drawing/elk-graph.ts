import type { ElkExtendedEdge, ElkNode, LayoutOptions } from 'elkjs/lib/elk.bundled.js'
import type { Chart, ChartState, ChartTransition } from '../machines/chart.ts'
import { type Label, labelOf, labelsHeight, labelsWidth } from './label.ts'
import type { Backwards } from './reading-order.ts'
import { boldTextWidth } from './text-width.ts'

export const titleFontSize = 14
export const titleHeight = 32
export const inset = 12
const dotSize = 10
const historySize = 26
export const labelMargin = 5

/** A chart as ELK takes it, with the measured size of every word that will be drawn. */
export interface Graph {
  root: ElkNode
  edges: GraphEdge[]
}

export interface GraphEdge {
  id: string
  source: string
  target: string
  transitions: ChartTransition[]
  labels: Label[]
  /** ELK is given the line from target to source, and its points are to be read in reverse. */
  backwards: boolean
}

export const stateNodeId = (state: string) => `state ${state}`
export const dotId = (parent: string) => `dot ${parent}`
export const dotEdgeId = (parent: string) => `first ${parent}`
const originId = (edge: string) => `origin of ${edge}`

export function graphOf(chart: Chart, options: LayoutOptions, backwards: Backwards): Graph {
  const edges = edgesOf(chart.transitions, backwards)
  const dotEdges = chart.states.flatMap(({ id, initial }) =>
    initial === null
      ? []
      : [{ id: dotEdgeId(id), sources: [dotId(id)], targets: [stateNodeId(initial)] }],
  )
  const root = {
    id: chart.id,
    layoutOptions: { ...options, 'elk.padding': paddingOf(inset) },
    children: chart.states
      .filter((state) => state.parent === null)
      .map((state) => nodeOf(state, { chart, options, edges })),
    edges: [...dotEdges, ...edges.map(elkEdge)],
  }
  return { root, edges }
}

/** What happens without a change of state is listed inside the box: a loop would say less. */
export function isInternal({ source, targets }: ChartTransition): boolean {
  return targets.every((target) => target === source)
}

export function internalLabels(state: ChartState, { transitions }: Chart): Label[] {
  return transitions
    .filter((transition) => transition.source === state.id && isInternal(transition))
    .map(labelOf)
}

/** Title and internal transitions: the whole of an atomic state, the top of a compound one. */
export function headerSize(state: ChartState, chart: Chart): { width: number; height: number } {
  if (state.kind === 'history') return { width: historySize, height: historySize }
  const labels = internalLabels(state, chart)
  const titleWidth = boldTextWidth(state.key, titleFontSize)
  return {
    width: Math.max(titleWidth, labelsWidth(labels)) + 2 * inset,
    height: titleHeight + (labels.length > 0 ? labelsHeight(labels) + inset : 0),
  }
}

/** Lines from a compound state to its own inside. */
export function isInward({ source, target }: Pick<GraphEdge, 'source' | 'target'>): boolean {
  return source === '' || target.startsWith(`${source}.`)
}

interface Surroundings {
  chart: Chart
  options: LayoutOptions
  edges: readonly GraphEdge[]
}

function nodeOf(state: ChartState, around: Surroundings): ElkNode {
  const { chart, options, edges } = around
  const { width, height } = headerSize(state, chart)
  const children = chart.states.filter((child) => child.parent === state.id)
  const node = { id: stateNodeId(state.id), width, height }
  const sizing = {
    'elk.nodeSize.constraints': '[PORTS, MINIMUM_SIZE]',
    'elk.nodeSize.minimum': `(${width}, ${height})`,
  }
  if (children.length === 0) return { ...node, layoutOptions: sizing }
  const dot = { id: dotId(state.id), width: dotSize, height: dotSize }
  return {
    ...node,
    children: [
      ...(state.initial === null ? [] : [dot]),
      ...edges.filter((edge) => edge.source === state.id && isInward(edge)).map(originNode),
      ...children.map((child) => nodeOf(child, around)),
    ],
    layoutOptions: { ...options, ...sizing, 'elk.padding': paddingOf(2 * inset, height + inset) },
  }
}

/**
 * ELK loses labels on the way from a state to its grandchildren. So an inward line begins at a
 * point of its own before everything else inside, and is drawn on from there to the border.
 */
function originNode({ id }: GraphEdge): ElkNode {
  const layoutOptions = { 'elk.layered.layering.layerConstraint': 'FIRST' }
  return { id: originId(id), width: 1, height: 1, layoutOptions }
}

/** One edge for each pair of states, however many transitions connect them. */
function edgesOf(transitions: readonly ChartTransition[], backwards: Backwards): GraphEdge[] {
  const edges = new Map<string, GraphEdge>()
  for (const transition of transitions.filter((each) => !isInternal(each))) {
    for (const target of transition.targets) {
      const { source } = transition
      const id = `edge ${source} ${target}`
      const edge = edges.get(id) ?? {
        id,
        source,
        target,
        transitions: [],
        labels: [],
        backwards: backwards(source, target),
      }
      edge.transitions.push(transition)
      edge.labels.push(labelOf(transition))
      edges.set(id, edge)
    }
  }
  return [...edges.values()]
}

function elkEdge(edge: GraphEdge): ElkExtendedEdge {
  const start = isInward(edge) ? originId(edge.id) : stateNodeId(edge.source)
  const end = stateNodeId(edge.target)
  const [upper, lower] = edge.backwards ? [end, start] : [start, end]
  const label = {
    text: edge.id,
    width: labelsWidth(edge.labels) + 2 * labelMargin,
    height: labelsHeight(edge.labels) + 2 * labelMargin,
    layoutOptions: { 'elk.edgeLabels.inline': 'true' },
  }
  return { id: edge.id, sources: [upper], targets: [lower], labels: [label] }
}

function paddingOf(side: number, top = side): string {
  return `[top=${top}, left=${side}, bottom=${side}, right=${side}]`
}
