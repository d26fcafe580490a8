import type { Chart, ChartState, ChartTransition } from '../machines/chart.ts'
import { isInternal } from './elk-graph.ts'
import { labelOf } from './label.ts'
import { siblings } from './reading-order.ts'

/**
 * A chart as a Mermaid state diagram, for pages that draw Mermaid themselves. Mermaid knows no
 * line between a state and its own inside, so a compound state that needs one, or that has
 * transitions which stay in place, gets a child "any state" to speak for all its children. And
 * it tangles everything once a line crosses a border, so every line ends at the border and its
 * label names the state inside.
 */
export function mermaidOf(chart: Chart): string {
  const names = namesOf(chart)
  const diagram = { chart, names, edges: edgesOf(chart, names) }
  // Only a state with a title can say that its children are parallel.
  const root = chart.states.find(({ parent, kind }) => parent === null && kind === 'parallel')
  const lines = root ? stateLines(root, diagram) : blockLines('', diagram)
  return `stateDiagram-v2\n${lines.map((line) => `  ${line}\n`).join('')}`
}

/** The Mermaid ids of all states, and of what speaks for their children. */
interface Names {
  id: (state: string) => string
  anyId: (state: string) => string
}

interface Edge {
  /** The state whose block holds both ends. */
  block: string
  from: string
  to: string
  labels: string[]
}

interface Diagram {
  chart: Chart
  names: Names
  edges: Edge[]
}

function blockLines(parent: string, diagram: Diagram): string[] {
  const { chart, names, edges } = diagram
  const outer = chart.states.find((state) => state.id === parent)
  const children = chart.states.filter((state) => state.parent === parent)
  const parts = children.map((state) => stateLines(state, diagram))
  if (needsAnyState(parent, chart)) {
    const id = names.anyId(parent)
    parts.unshift([`state "any state" as ${id}`, ...internalLines(parent, id, chart)])
  }
  const finals = children.filter((state) => state.kind === 'final')
  return [
    ...parts.flat(),
    ...(outer?.initial ? [`[*] --> ${names.id(outer.initial)}`] : []),
    ...edges.filter((edge) => edge.block === parent).map(edgeLine),
    ...finals.map((state) => `${names.id(state.id)} --> [*]`),
  ]
}

function stateLines(state: ChartState, diagram: Diagram): string[] {
  const id = diagram.names.id(state.id)
  const opening = `state "${escaped(titleOf(state))}" as ${id}`
  return hasChildren(state.id, diagram.chart)
    ? [`${opening} {`, ...blockLines(state.id, diagram).map((line) => `  ${line}`), '}']
    : [opening, ...internalLines(state.id, id, diagram.chart)]
}

/** Mermaid's own dividers between parallel regions fail as soon as a line reaches a region. */
function titleOf({ kind, key }: ChartState): string {
  if (kind === 'history') return 'H'
  return kind === 'parallel' ? `${key} (parallel)` : key
}

function internalLines(state: string, id: string, { transitions }: Chart): string[] {
  return transitions
    .filter((transition) => transition.source === state && isInternal(transition))
    .map((transition) => `${id} : ${labelText(transition)}`)
}

function needsAnyState(state: string, chart: Chart): boolean {
  return (
    hasChildren(state, chart) &&
    chart.transitions
      .filter(({ source }) => source === state)
      .some((each) => isInternal(each) || each.targets.some((target) => holds(state, target)))
  )
}

/** Transitions between the same two states share one line, their labels below each other. */
function edgesOf(chart: Chart, names: Names): Edge[] {
  const edges = new Map<string, Edge>()
  for (const transition of chart.transitions.filter((each) => !isInternal(each))) {
    for (const target of transition.targets) {
      const { block, from, to, inside } = endsOf(transition.source, target, chart, names)
      const key = `${from} ${to}`
      const edge = edges.get(key) ?? { block, from, to, labels: [] }
      edge.labels.push([labelText(transition), ...inside.map(escaped)].join(' '))
      edges.set(key, edge)
    }
  }
  return [...edges.values()]
}

/** Both ends in one block, with words for the states inside them that are really meant. */
function endsOf(source: string, target: string, chart: Chart, { id, anyId }: Names) {
  if (holds(source, target)) {
    const to = childTowards(source, target)
    return { block: source, from: anyId(source), to: id(to), inside: meant('to', to, target) }
  }
  if (holds(target, source)) {
    const from = childTowards(target, source)
    const to = chart.states.find((state) => state.id === target)?.initial ?? from
    return { block: target, from: id(from), to: id(to), inside: meant('in', from, source) }
  }
  const [from, to] = siblings(source, target)
  const block = from.split('.').slice(0, -1).join('.')
  const inside = [...meant('in', from, source), ...meant('to', to, target)]
  return { block, from: id(from), to: id(to), inside }
}

function childTowards(outer: string, inner: string): string {
  const depth = outer === '' ? 1 : outer.split('.').length + 1
  return inner.split('.').slice(0, depth).join('.')
}

function meant(word: 'in' | 'to', shown: string, state: string): string[] {
  return shown === state ? [] : [`(${word} ${state.slice(shown.length + 1)})`]
}

function edgeLine({ from, to, labels }: Edge): string {
  return `${from} --> ${to} : ${labels.join('<br/>')}`
}

function labelText(transition: ChartTransition): string {
  const { event, guard } = labelOf(transition)
  return escaped([event, guard].filter(Boolean).join(' '))
}

/** What ends a label or means something in Markdown or HTML goes in by number. */
function escaped(text: string): string {
  return text.replace(/["#*:;<>&`~\\\n]/g, (character) => `#${character.codePointAt(0)};`)
}

/** The prefix keeps clear of Mermaid's own words (`end`, `default`, `state`, …). */
function namesOf({ states }: Chart): Names {
  const ids = new Map<string, string>()
  const taken = new Set<string>()
  for (const state of states) {
    const plain = `s_${(state.id || state.key).replace(/\W/g, '_')}`
    const isFree = !taken.has(plain)
    const id = isFree ? plain : `${plain}_${taken.size}`
    taken.add(id)
    ids.set(state.id, id)
  }
  const id = (state: string) => ids.get(state) ?? state
  return { id, anyId: (state) => `any_${id(state)}` }
}

function hasChildren(state: string, { states }: Chart): boolean {
  return states.some(({ parent }) => parent === state)
}

function holds(outer: string, inner: string): boolean {
  return outer === '' ? inner !== '' : inner.startsWith(`${outer}.`)
}
