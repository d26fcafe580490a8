import type { AnyStateMachine } from 'xstate'
import { type Chart, chartOf } from '../machines/chart.ts'
import { code, escapeMarkdown, generatedNote, tableOf } from './markdown.ts'
import { count, machinePage, type ProofFigures, share } from './page.ts'
import { drawingOf } from './svg.ts'

export interface ProvedMachine {
  machine: AnyStateMachine
  figures: ProofFigures
}

/** Every generated document by the path it belongs to: two for each machine, and the report. */
export async function documentsOf(proved: readonly ProvedMachine[]): Promise<Map<string, string>> {
  const machines = proved.map(({ machine, figures }) => ({ chart: chartOf(machine), figures }))
  const documents = new Map([['docs/machines/README.md', reportOf(machines)]])
  for (const { chart, figures } of machines) {
    const path = `docs/machines/${chart.id}`
    if (documents.has(`${path}.md`)) throw new Error(`Two machines are called "${chart.id}"`)
    documents.set(`${path}.md`, machinePage(chart, figures))
    documents.set(`${path}.svg`, await drawingOf(chart))
  }
  return documents
}

interface Described {
  chart: Chart
  figures: ProofFigures
}

function reportOf(machines: readonly Described[]): string {
  return `${[
    generatedNote,
    '# Machines',
    'Every machine is searched completely under small bounds; then each shortest path is replayed on a live host, with a crash and a restore after every step.',
    tableOf(
      ['Machine', 'What it does'],
      machines.map(({ chart }) => [linkTo(chart), escapeMarkdown(chart.description)]),
    ),
    '## Report',
    tableOf(
      [
        'Machine',
        'States',
        'Transitions taken',
        'Guards both ways',
        'Configurations',
        'Paths',
        'Steps',
        'Crash replays',
      ],
      machines.map(({ chart, figures }) => [
        linkTo(chart),
        count(chart.states.length - 1),
        share(figures.transitionsTaken, figures.transitions),
        share(figures.guardsBothWays, figures.guards),
        count(figures.configurations),
        count(figures.paths),
        count(figures.steps),
        count(figures.crashReplays),
      ]),
    ),
  ].join('\n\n')}\n`
}

function linkTo({ id }: Chart): string {
  return `[${code(id)}](${encodeURIComponent(id)}.md)`
}
