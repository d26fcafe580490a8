import type { Chart, ChartState, ChartTransition } from '../machines/chart.ts'
import { inset, titleFontSize, titleHeight } from './elk-graph.ts'
import { around, type Box, type Point } from './geometry.ts'
import { labelFontSize, lineHeight, type PlacedLabel } from './label.ts'
import { layoutOf } from './layout.ts'
import { arrowHead, beforeHead, linePath, outside } from './line.ts'
import {
  hasRoom,
  type Layout,
  type PlacedEdge,
  type PlacedInitial,
  type PlacedState,
} from './placement.ts'
import { style } from './style.ts'
import { element, textElement, xmlId } from './xml.ts'

/**
 * A chart as a drawing that explains itself and can be brought to life: every state and every
 * transition is one group with a stable id, a `data-state` or `data-transition` that holds the
 * chart's own id, and its description as a tooltip. Whoever shows it live adds the class `active`
 * to states and `taken` to transitions. The same chart always gives the same bytes.
 */
export async function drawingOf(chart: Chart): Promise<string> {
  return svgOf(chart, await layoutOf(chart))
}

export function svgOf(chart: Chart, layout: Layout): string {
  const { width, height } = layout
  const groups = [
    element('style', {}, style),
    element('rect', { class: 'paper', width, height }),
    ...layout.states.map((placed) => stateGroup(placed, chart)),
    ...layout.initials.map(initialGroup),
    ...chart.transitions.map((transition) => transitionGroup(transition, chart, layout)),
  ]
  const attributes = {
    xmlns: 'http://www.w3.org/2000/svg',
    id: xmlId('statechart', chart.id),
    class: 'statechart',
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: 'img',
    'aria-label': `Statechart of ${chart.id}`,
  }
  return `${element('svg', attributes, `\n${groups.join('\n')}\n`)}\n`
}

function stateGroup(placed: PlacedState, chart: Chart): string {
  const { state, box, header, internal } = placed
  const isRegion = chart.states.some(({ id, kind }) => id === state.parent && kind === 'parallel')
  const attributes = {
    id: xmlId('state', chart.id, state.id),
    class: ['state', state.kind, ...(isRegion ? ['region'] : [])].join(' '),
    'data-state': state.id,
  }
  const hasList = internal.length > 0
  return element(
    'g',
    attributes,
    textElement('title', {}, stateTooltip(state)),
    ...frame(state, box),
    stateName(placed),
    ...(hasList ? [rule(box, box.y + titleHeight)] : []),
    ...(hasRoom(state) ? [rule(box, box.y + header.height)] : []),
  )
}

function frame(state: ChartState, box: Box): string[] {
  const corner = state.kind === 'history' ? box.height / 2 : 8
  const outer = element('rect', { class: 'box', ...box, rx: corner })
  if (state.kind !== 'final') return [outer]
  const gap = 3
  const inner = {
    x: box.x + gap,
    y: box.y + gap,
    width: box.width - 2 * gap,
    height: box.height - 2 * gap,
  }
  return [outer, element('rect', { class: 'ring', ...inner, rx: corner - gap })]
}

function stateName({ state, box, internal }: PlacedState): string {
  const height = hasRoom(state) || internal.length > 0 ? titleHeight : box.height
  const y = box.y + baseline(height, titleFontSize)
  if (hasRoom(state)) return textElement('text', { class: 'name', x: box.x + inset, y }, state.key)
  const x = box.x + box.width / 2
  const name = state.kind === 'history' ? 'H' : state.key
  return textElement('text', { class: 'name middle', x, y }, name)
}

function rule({ x, width }: Box, y: number): string {
  return element('line', { class: 'rule', x1: x, y1: y, x2: x + width, y2: y })
}

function initialGroup({ dot, points }: PlacedInitial): string {
  const radius = dot.width / 2
  return element(
    'g',
    { class: 'initial' },
    element('circle', { class: 'dot', cx: dot.x + radius, cy: dot.y + radius, r: radius }),
    arrow(points, null),
  )
}

function transitionGroup(transition: ChartTransition, chart: Chart, layout: Layout): string {
  const edges = layout.edges.filter((edge) => edge.transitions.includes(transition))
  const labels = [
    ...layout.states.flatMap((placed) => placed.internal),
    ...edges.flatMap((edge) => edge.labels),
  ].filter(({ label }) => label.transition === transition)
  const isInternal = edges.length === 0
  const attributes = {
    id: xmlId('transition', chart.id, transition.id),
    class: [
      'transition',
      ...(isInternal ? ['internal'] : []),
      ...(transition.kind === 'event' ? [] : ['wordless']),
    ].join(' '),
    'data-transition': transition.id,
  }
  return element(
    'g',
    attributes,
    textElement('title', {}, transitionTooltip(transition)),
    ...edges.map((edge) => sharedArrow(edge, transition)),
    ...labels.map((placed) => labelText(placed, isInternal)),
  )
}

/** Every transition has the whole line, but only the first shows it until another is taken. */
function sharedArrow(edge: PlacedEdge, transition: ChartTransition): string {
  const drawn = arrow(edge.points, labelRoom(edge))
  return edge.transitions[0] === transition ? drawn : element('g', { class: 'shared' }, drawn)
}

function arrow(points: Point[], room: Box | null): string {
  const pieces = outside(beforeHead(points), room)
  return [
    element('path', { class: 'line', d: pieces.map(linePath).join('') }),
    element('path', { class: 'head', d: arrowHead(points) }),
  ].join('')
}

/** The room that a line leaves to its labels. */
function labelRoom({ labels }: PlacedEdge): Box | null {
  if (labels.length === 0) return null
  const { x, y, width, height } = around(labels.map(({ box }) => box))
  return { x: x - 3, y: y - 1, width: width + 6, height: height + 2 }
}

function labelText({ label, box }: PlacedLabel, isInternal: boolean): string {
  const x = isInternal ? box.x : box.x + box.width / 2
  const y = box.y + baseline(lineHeight, labelFontSize)
  const event = textElement('tspan', { class: 'event' }, label.event)
  const guard = textElement(
    'tspan',
    label.stacked ? { class: 'guard', x, dy: lineHeight } : { class: 'guard' },
    label.guard,
  )
  const words = label.guard ? [event, guard] : [event]
  return element(
    'text',
    isInternal ? { x, y } : { class: 'middle', x, y },
    words.join(label.stacked ? '' : ' '),
  )
}

/** Where text of this size stands in the middle of a line: two thirds of it are above the baseline. */
function baseline(height: number, fontSize: number): number {
  return height / 2 + fontSize * 0.35
}

function stateTooltip({ id, key, description, tags, entry, exit }: ChartState): string {
  return [
    id || key,
    description,
    tags.length > 0 ? `tags: ${tags.join(', ')}` : '',
    entry.length > 0 ? `on entry: ${entry.join(', ')}` : '',
    exit.length > 0 ? `on exit: ${exit.join(', ')}` : '',
  ]
    .filter(Boolean)
    .join('\n')
}

function transitionTooltip({ event, guard, actions, description }: ChartTransition): string {
  const words = [event || 'always', guard && `[${guard}]`, actions.length > 0 && '/', ...actions]
  return [words.filter(Boolean).join(' '), description].filter(Boolean).join('\n')
}
