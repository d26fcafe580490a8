import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { HealthSlice } from './health-routes.ts'
import type { MachineSlice } from './machine-routes.ts'
import { populationView } from './machine-view.ts'
import { page } from './page.ts'
import { sendRevalidated } from './revalidated-text.ts'

const assets = [
  { path: '/page.css', file: 'page.css', type: 'text/css; charset=utf-8' },
  { path: '/icon.svg', file: 'icon.svg', type: 'image/svg+xml; charset=utf-8' },
]

export function pageRoutes(
  app: FastifyInstance,
  health: HealthSlice,
  machines: MachineSlice,
): void {
  const { charts, drawings, populations } = machines

  app.get('/', async (request, reply) => {
    const svgs = await Promise.all(charts.map((chart) => drawings.atHand(chart)))
    const text = page({
      version: health.version,
      state: health.state(),
      machines: charts.map((chart, index) => ({
        chart,
        population: populationView(chart.id, populations()),
        svg: svgs[index],
      })),
    })
    return sendRevalidated(request, reply, { type: 'text/html; charset=utf-8', text })
  })

  for (const { path, file, type } of assets) {
    const text = readFileSync(join(import.meta.dirname, 'assets', file), 'utf8')
    app.get(path, async (request, reply) => sendRevalidated(request, reply, { type, text }))
  }
}
