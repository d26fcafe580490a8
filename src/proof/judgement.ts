import { isDeepStrictEqual } from 'node:util'
import {
  type InspectedStep,
  type MachineSnapshot,
  type Statechart,
  type Step,
  stateName,
} from '../actors/statechart.ts'

/**
 * XState is the judge of compiled steps: what they make of the same beginning or the same event
 * must be what XState makes of it. Keeps one sentence for each state, event and part that differs.
 */
export class Judgement {
  readonly #chart: Statechart
  readonly #differences = new Set<string>()

  /** `chart` is the one whose steps are judged. */
  constructor(chart: Statechart) {
    this.#chart = chart
  }

  get differences(): readonly string[] {
    return [...this.#differences]
  }

  begin(judge: Statechart, input: object): void {
    this.compare(judge.begin(input), () => this.#chart.begin(input), 'at the beginning')
  }

  /** `before` is a copy of the state before the step: rings are updated in place. */
  step({ before: { value }, event, ...step }: InspectedStep, before: MachineSnapshot): void {
    const where = `after ${event.type} in '${stateName(value)}'`
    this.compare(step, () => this.#chart.step(before, event), where)
  }

  compare(judged: Step, compiled: () => Step, where: string): void {
    const wanted = visible(judged)
    const found = attempted(compiled)
    for (const [part, value] of Object.entries(wanted))
      if (!isDeepStrictEqual(value, found[part]))
        this.#differences.add(
          `${where} the compiled step has another ${part} than XState's: ${text(found[part])} instead of ${text(value)}`,
        )
  }
}

/** Everything about a step that anybody can see. */
function visible({ snapshot, commands }: Step): Readonly<Record<string, unknown>> {
  const { value, context, tags, status, output, error, historyValue, _nodes, children } = snapshot
  const history = Object.entries(historyValue as Record<string, { id: string }[]>)
  return {
    value,
    context,
    tags: [...tags],
    status,
    output,
    error,
    history: history.map(([id, nodes]) => [id, nodes.map((node) => node.id)]),
    nodes: _nodes.map(({ id }) => id),
    children: { ...children },
    persisted: JSON.stringify(snapshot),
    commands,
  }
}

function attempted(step: () => Step): Readonly<Record<string, unknown>> {
  try {
    return visible(step())
  } catch (error) {
    return { error }
  }
}

function text(value: unknown): string {
  return value instanceof Error ? String(value) : JSON.stringify(value)
}
