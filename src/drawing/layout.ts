import type { LayoutOptions } from 'elkjs/lib/elk.bundled.js'
import type { Chart } from '../machines/chart.ts'
import { costOf } from './legibility.ts'
import { type Layout, place } from './placement.ts'
import { backwardsIn, type Order } from './reading-order.ts'
import { straighten } from './straighten.ts'

/**
 * The most legible of several layouts, because no single set of options suits a ring of five
 * states as well as a fan of seven ends. The same chart always gets the same layout.
 */
export async function layoutOf(chart: Chart): Promise<Layout> {
  const attempts = await Promise.allSettled(
    candidates.map(({ options, order }) => place(chart, options, backwardsIn(chart, order))),
  )
  // ELK gives up on some charts under some options; one success is enough.
  const layouts = attempts.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  const costs = layouts.map(costOf)
  const best = layouts[costs.indexOf(Math.min(...costs))]
  if (best) return straighten(best)
  const reasons = attempts.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
  throw new AggregateError(reasons, `No layout for machine "${chart.id}"`)
}

const shared: LayoutOptions = {
  'elk.algorithm': 'layered',
  'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
  'elk.edgeRouting': 'ORTHOGONAL',
  'elk.json.shapeCoords': 'ROOT',
  'elk.json.edgeCoords': 'ROOT',
  'elk.layered.nodePlacement.strategy': 'NETWORK_SIMPLEX',
  'elk.spacing.nodeNode': '32',
  'elk.spacing.edgeNode': '18',
  'elk.spacing.edgeEdge': '16',
  'elk.spacing.portPort': '14',
  'elk.spacing.edgeLabel': '2',
  'elk.spacing.labelNode': '8',
  'elk.layered.spacing.nodeNodeBetweenLayers': '28',
  'elk.layered.spacing.edgeNodeBetweenLayers': '18',
  'elk.layered.spacing.edgeEdgeBetweenLayers': '14',
}

/** What one chart needs and another suffers from, in all combinations. */
const candidates: { options: LayoutOptions; order: Order }[] = ['DOWN', 'RIGHT'].flatMap(
  (direction) =>
    (['document', 'distance'] as const).flatMap((order) =>
      ['0.1', '1'].flatMap((sweepiness) =>
        ['1', '5'].map((seed) => ({
          order,
          options: {
            ...shared,
            'elk.direction': direction,
            'elk.layered.crossingMinimization.hierarchicalSweepiness': sweepiness,
            'elk.randomSeed': seed,
          },
        })),
      ),
    ),
)
