import type { Chart, ChartState, ChartTransition } from '../machines/chart.ts'
import { type Content, html, type Markup, nothing, trusted } from './html.ts'
import { litDrawing } from './lit-drawing.ts'
import { machineLinks, type PopulationView, statesOf } from './machine-view.ts'

export interface ShownMachine {
  readonly chart: Chart
  readonly population: PopulationView | null
  /** Undefined until it is drawn; the browser then asks for it by itself. */
  readonly svg: string | undefined
}

/** One machine as people read it: the drawing, what each state means, and every transition. */
export function machineSection({ chart, population, svg }: ShownMachine): Markup {
  const { id, version, description, transitions } = chart
  const links = machineLinks(id)
  return html`
<section id="${id}" aria-labelledby="${id}-name">
  <header>
    <h2 id="${id}-name"><a href="#${id}">${id}</a></h2>
    <p class="quiet">version ${version} · <a href="${links.self}">JSON</a> · <a href="${links.drawing}">SVG</a></p>
  </header>
  <p class="description">${description}</p>
  <div class="chart">
    <figure tabindex="0" aria-label="Drawing of ${id}">${drawing(chart, population, svg)}</figure>
    <div class="states">
      <h3>States</h3>
      <dl>${statesOf(chart).map((state) => stateEntry(state, population))}</dl>
    </div>
  </div>
  <details>
    <summary>${transitions.length} transitions</summary>
    <table>
      <thead><tr><th>From<th>Event<th>Guard<th>Actions<th>To<th>Meaning</thead>
      <tbody>${transitions.map(transitionRow)}</tbody>
    </table>
  </details>
</section>`
}

function drawing({ id }: Chart, population: PopulationView | null, svg: string | undefined) {
  if (svg !== undefined) return trusted(litDrawing(svg, population))
  return html`<img src="${machineLinks(id).drawing}" alt="Statechart of ${id}, being drawn">`
}

function stateEntry(state: ChartState, population: PopulationView | null): Markup {
  const { id, kind, tags, description } = state
  const marks = [...(kind === 'final' ? ['final'] : []), ...tags]
  const actors = population?.states[id] ?? 0
  return html`
<dt><code>${id}</code>${actors > 0 ? html` <b class="here">${actors} here</b>` : nothing}${marks.map(
    (mark) => html` <small>${mark}</small>`,
  )}</dt>
<dd>${description}</dd>`
}

function transitionRow(transition: ChartTransition): Markup {
  const { source, event, kind, guard, actions, description } = transition
  const cells: [string, Content][] = [
    ['From', source === '' ? html`<i>any</i>` : code(source)],
    ['Event', kind === 'event' ? code(event) : html`<i>${event || 'always'}</i>`],
    ['Guard', guard === '' ? '' : code(guard)],
    ['Actions', actions.map((action) => [code(action), ' '])],
    ['To', destination(transition)],
    ['Meaning', description],
  ]
  const filled = cells.map(([label, content]) =>
    content === '' || (Array.isArray(content) && content.length === 0)
      ? html`<td class="empty">`
      : html`<td data-label="${label}">${content}`,
  )
  return html`<tr>${filled}`
}

function destination({ source, targets, reenter }: ChartTransition): Content {
  const isStay = targets.every((target) => target === source)
  if (isStay) return html`<i>${reenter && targets.length > 0 ? 'enters again' : 'stays'}</i>`
  return targets.map((target) => [code(target), ' '])
}

function code(text: string): Markup {
  return html`<code>${text}</code>`
}
