import type { FastifyInstance } from 'fastify'
import type { Runtime } from '../runtime/runtime.ts'
import type { Throughput } from './throughput.ts'

export interface StatsSlice {
  readonly runtime: Pick<Runtime, 'nodeId' | 'stats' | 'nodes' | 'pauses'>
  readonly throughput: Throughput
}

export function statsRoutes(app: FastifyInstance, { runtime, throughput }: StatsSlice): void {
  app.get('/v1/stats', async () => {
    const [counts, nodes, pauses] = await Promise.all([
      runtime.stats(),
      runtime.nodes(),
      runtime.pauses(),
    ])
    return {
      /** The one that answers; `endedLastMinute` is its own, the rest is everybody's. */
      node: runtime.nodeId,
      jobs: { ...counts.live, ...counts.ended },
      outbox: counts.outbox,
      oldestQueuedAt: instant(counts.oldestQueuedAt),
      endedLastMinute: throughput.endedLastMinute,
      nodes: nodes.map((node) => ({
        ...node,
        startedAt: instant(node.startedAt),
        beatAt: instant(node.beatAt),
      })),
      pauses,
    }
  })
}

function instant(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}
