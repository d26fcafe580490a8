import type { Version } from '../runtime/version.ts'
import { html, type Markup } from './html.ts'
import { machineSection, type ShownMachine } from './machine-section.ts'
import { statesOf } from './machine-view.ts'

export interface PageContent {
  readonly version: Version
  /** Of the process: `serving`, `draining`, … */
  readonly state: string
  readonly machines: readonly ShownMachine[]
}

/** The whole page as it is sent: no script, nothing from elsewhere. */
export function page({ version, state, machines }: PageContent): string {
  return html`<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>Decorum · ${state}</title>
  <link rel="icon" href="/icon.svg" type="image/svg+xml">
  <link rel="stylesheet" href="/page.css">
</head>
<body>
<header class="masthead">
  <h1>Decorum</h1>
  <p class="lead">Jobs that call other people’s servers: durably, politely, and in plain sight.</p>
  <p class="vitals"><b class="state ${state}">${state}</b> <span>version ${version.version}</span> <span>Node ${version.node}</span></p>
  <nav aria-label="Machines">${machines.map(tile)}</nav>
</header>
<main>${machines.map(machineSection)}</main>
<footer>
  <p>For programs:
    <a href="/v1/stats">figures</a>
    <a href="/v1/machines">machines</a>
    <a href="/v1/version">version</a>
    <a href="/healthz">health</a>
    <a href="/readyz">readiness</a></p>
</footer>
</body>
</html>
`.markup
}

function tile({ chart }: ShownMachine): Markup {
  return html`
<a href="#${chart.id}"><b>${chart.id}</b><span>${statesOf(chart).length} states · ${chart.transitions.length} transitions</span></a>`
}
