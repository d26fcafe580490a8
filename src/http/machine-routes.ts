import type { FastifyInstance } from 'fastify'
import type { Chart } from '../machines/chart.ts'
import type { Drawings } from '../runtime/drawings.ts'
import { machineSummary, machineView, type Populations } from './machine-view.ts'
import { Problem } from './problem.ts'
import { sendRevalidated } from './revalidated-text.ts'

export interface MachineSlice {
  readonly charts: readonly Chart[]
  readonly drawings: Drawings
  populations(): Populations
}

interface ById {
  Params: { readonly id: string }
}

/** A drawing waits for its turn behind the others. */
const drawingMsMax = 120_000

export function machineRoutes(app: FastifyInstance, machines: MachineSlice): void {
  const { charts, drawings, populations } = machines

  app.get('/v1/machines', async () => ({ machines: charts.map(machineSummary) }))

  app.get<ById>('/v1/machines/:id', async ({ params }) =>
    machineView(chartOf(params.id), populations()),
  )

  app.get<ById>(
    '/v1/machines/:id/drawing.svg',
    { handlerTimeout: drawingMsMax },
    async (request, reply) => {
      const text = await drawn(chartOf(request.params.id))
      return sendRevalidated(request, reply, { type: 'image/svg+xml; charset=utf-8', text })
    },
  )

  function chartOf(id: string): Chart {
    const chart = charts.find((each) => each.id === id)
    if (chart) return chart
    const names = charts.map((each) => each.id).join(', ')
    throw new Problem('machine.unknown', `There is no machine "${id}": ask for one of ${names}.`)
  }

  async function drawn(chart: Chart): Promise<string> {
    try {
      return await drawings.of(chart)
    } catch (cause) {
      const detail = `Machine "${chart.id}" could not be drawn; the log says why. Try again later.`
      throw new Problem('drawing.unavailable', detail, { cause })
    }
  }
}
