/**
 * The drawings of charts. One that `npm run docs` has already made is read from its file as long as
 * it shows exactly the states and transitions of the chart; any other is drawn on first demand in a
 * thread of its own, one at a time, so that the process answers while it waits. Each is kept for
 * as long as the process lives.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Clock } from '../actors/ports.ts'
import { escapeXml } from '../drawing/xml.ts'
import type { Chart } from '../machines/chart.ts'

export interface Drawings {
  /** Without drawing: undefined when that would be necessary. */
  atHand(chart: Chart): Promise<string | undefined>
  /** A failure is not kept: the next demand tries again. */
  of(chart: Chart): Promise<string>
  /** Ends what is being drawn; later demands are refused. */
  close(): Promise<void>
}

export interface DrawingSources {
  /** Where `npm run docs` puts `<machine>.svg`. */
  readonly folder: string
  draw(chart: Chart, signal: AbortSignal): Promise<string>
  /** Drawing takes seconds; what takes this long will not come. */
  readonly drawMsMax: number
}

export const drawingSources: DrawingSources = {
  folder: join(import.meta.dirname, '..', '..', 'docs', 'machines'),
  draw: drawInThread,
  drawMsMax: 60_000,
}

export function openDrawings(
  clock: Clock,
  { folder, draw, drawMsMax }: DrawingSources = drawingSources,
): Drawings {
  const finished = new Map<string, string>()
  const underway = new Map<string, Promise<string>>()
  const closing = new AbortController()
  let last: Promise<unknown> = Promise.resolve()

  async function atHand(chart: Chart): Promise<string | undefined> {
    const kept = finished.get(chart.id)
    if (kept !== undefined) return kept
    const stored = await readFile(join(folder, `${chart.id}.svg`), 'utf8').catch(() => '')
    return shows(stored, chart) ? keep(chart, stored) : undefined
  }

  async function findOrDraw(chart: Chart): Promise<string> {
    const found = await atHand(chart)
    if (found !== undefined) return found
    const drawing = last.then(async () => {
      closing.signal.throwIfAborted()
      return keep(chart, await drawInTime(chart))
    })
    last = drawing.catch(() => {})
    return drawing
  }

  async function drawInTime(chart: Chart): Promise<string> {
    const late = new AbortController()
    const cancel = clock.wakeAt(clock.now() + drawMsMax, () => {
      late.abort(new Error(`Drawing machine '${chart.id}' took longer than ${drawMsMax} ms.`))
    })
    try {
      return await draw(chart, AbortSignal.any([closing.signal, late.signal]))
    } finally {
      cancel()
    }
  }

  function keep({ id }: Chart, svg: string): string {
    finished.set(id, svg)
    return svg
  }

  return {
    atHand,
    of(chart) {
      const drawing =
        underway.get(chart.id) ?? findOrDraw(chart).finally(() => underway.delete(chart.id))
      underway.set(chart.id, drawing)
      return drawing
    },
    async close() {
      closing.abort(new Error('The process stops.'))
      await last
    },
  }
}

/** A drawing names every state and transition once; whatever differs was made from another chart. */
function shows(svg: string, { states, transitions }: Chart): boolean {
  const drawn = [...svg.matchAll(/ data-(?:state|transition)="([^"]*)"/g)].map(([, id]) => id)
  const ids = new Set([...states, ...transitions].map(({ id }) => escapeXml(id)))
  return drawn.length === ids.size && drawn.every((id) => id !== undefined && ids.has(id))
}

function drawInThread(chart: Chart, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL('./drawing-thread.ts', import.meta.url), {
      workerData: chart,
    })
    const end = () => {
      void thread.terminate()
    }
    signal.addEventListener('abort', end, { once: true })
    thread.once('message', (svg: string) => resolve(svg))
    thread.once('error', reject)
    thread.once('exit', () => {
      signal.removeEventListener('abort', end)
      reject(signal.reason ?? new Error(`Nothing was drawn for machine '${chart.id}'.`))
    })
  })
}
