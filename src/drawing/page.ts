import type { Chart, ChartState, ChartTransition } from '../machines/chart.ts'
import { code, escapeMarkdown, generatedNote, tableOf } from './markdown.ts'
import { mermaidOf } from './mermaid.ts'

/** What the proof of a machine found, in numbers. */
export interface ProofFigures {
  /** The small scope that was searched completely, in words. */
  bounds: string
  /** Distinct combinations of state and context that were reached. */
  configurations: number
  transitions: number
  transitionsTaken: number
  guards: number
  /** Guards seen both true and false. */
  guardsBothWays: number
  paths: number
  steps: number
  crashReplays: number
  /** From a transition's id to the names of the commands it was seen to emit. */
  commands: ReadonlyMap<string, readonly string[]>
}

/** The page of one machine: drawn twice, told as tables, and proved. */
export function machinePage(chart: Chart, figures: ProofFigures): string {
  return [
    generatedNote,
    `# ${escapeMarkdown(titleOf(chart))}`,
    escapeMarkdown(chart.description),
    `![Statechart of ${escapeMarkdown(chart.id)}](${encodeURIComponent(chart.id)}.svg)`,
    '## States',
    statesTable(chart),
    '## Transitions',
    transitionsTable(chart, figures),
    '## Proof',
    proofText(figures),
    '## The same as Mermaid',
    `\`\`\`mermaid\n${mermaidOf(chart)}\`\`\``,
  ]
    .filter((part) => part !== '')
    .map((part) => `${part}\n`)
    .join('\n')
}

function titleOf({ id, version }: Chart): string {
  return version === '' ? id : `${id}, version ${version}`
}

function statesTable({ states }: Chart): string {
  return tableOf(
    ['State', 'Kind', 'Tags', 'Description'],
    states
      .filter((state) => state.parent !== null)
      .map((state) => [
        code(state.id),
        kindOf(state, states),
        state.tags.map(code).join(', '),
        escapeMarkdown(state.description),
      ]),
  )
}

function kindOf({ id, kind }: ChartState, states: readonly ChartState[]): string {
  return states.some(({ initial }) => initial === id) ? `${kind}, initial` : kind
}

function transitionsTable({ transitions }: Chart, { commands }: ProofFigures): string {
  return tableOf(
    ['From', 'Event', 'Guard', 'Commands', 'To', 'Description'],
    transitions.map((transition) => [
      transition.source === '' ? '*any*' : code(transition.source),
      transition.kind === 'event' ? code(transition.event) : `*${transition.event || 'always'}*`,
      transition.guard === '' ? '' : code(transition.guard),
      (commands.get(transition.id) ?? []).map(code).join(', '),
      destination(transition),
      escapeMarkdown(transition.description),
    ]),
  )
}

function destination({ source, targets, reenter }: ChartTransition): string {
  if (targets.length === 0) return '*stays*'
  return targets
    .map((target) => (target === source ? (reenter ? '*enters again*' : '*stays*') : code(target)))
    .join(', ')
}

function proofText(figures: ProofFigures): string {
  const rows: [string, string][] = [
    ['Configurations reached', count(figures.configurations)],
    ['Transitions taken', share(figures.transitionsTaken, figures.transitions)],
    ['Guards seen true and false', share(figures.guardsBothWays, figures.guards)],
    ['Shortest paths replayed on a live host', count(figures.paths)],
    ['Steps in these paths', count(figures.steps)],
    ['Crashes and restores, one after every step', count(figures.crashReplays)],
  ]
  return `Searched completely within these bounds: ${escapeMarkdown(figures.bounds)}.\n\n${tableOf(['What', 'How many'], rows)}`
}

export function count(value: number): string {
  return value.toLocaleString('en')
}

export function share(part: number, whole: number): string {
  return `${count(part)} of ${count(whole)}`
}
