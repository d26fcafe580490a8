/**
 * What happened lately: counters over a sliding window, kept in a ring of buckets.
 *
 * Updated in place, without allocating after the first update. Whoever keeps or explores snapshots
 * of a context that holds one copies it through JSON first. Plain numbers throughout; a window in
 * which nothing happened costs an empty array.
 *
 * A total covers the current bucket and the whole ones before it, up to the window's length.
 * Clocks may go back: by less than a window, the update is counted where it belongs; by more, or
 * after a gap of a whole window, counting starts anew.
 */

import type { RateLimitConfig } from './rate-limit-config.ts'

type WindowConfig = Pick<RateLimitConfig, 'statsWindowMs' | 'statsBucketMs'>

export const windowSeries = ['total', 'throttled', 'serverErrors', 'networkErrors'] as const
export type WindowSeries = (typeof windowSeries)[number]

export interface Window {
  /** Number of the latest bucket, counted from time zero. Means nothing while `counts` is empty. */
  latest: number
  /** One row per bucket, one column per series; the row is the bucket's number modulo the rows. */
  readonly counts: number[]
}

const width = windowSeries.length
const column = { total: 0, throttled: 1, serverErrors: 2, networkErrors: 3 } as const

export function emptyWindow(): Window {
  return { latest: 0, counts: [] }
}

/** Counts one event. The total is a series like the others: what belongs to both is recorded twice. */
export function record(
  window: Window,
  series: WindowSeries,
  at: number,
  config: WindowConfig,
): void {
  const rows = rowsOf(config)
  const bucket = bucketOf(at, config)
  if (isForgotten(window, bucket, rows)) restart(window, bucket, rows)
  while (window.latest < bucket) {
    window.latest += 1
    const start = cellOf(window.latest, 'total', rows)
    window.counts.fill(0, start, start + width)
  }
  const cell = cellOf(bucket, series, rows)
  window.counts[cell] = (window.counts[cell] ?? 0) + 1
}

export function total(
  window: Window,
  series: WindowSeries,
  at: number,
  config: WindowConfig,
): number {
  const rows = rowsOf(config)
  const bucket = bucketOf(at, config)
  if (isForgotten(window, bucket, rows)) return 0
  // Read backwards from the latest row; the ones before it that time has overtaken are left out.
  const current = rows - Math.max(0, bucket - window.latest)
  let cell = cellOf(window.latest, series, rows)
  let sum = 0
  for (let row = 0; row < current; row += 1) {
    sum += window.counts[cell] ?? 0
    cell = cell < width ? cell + (rows - 1) * width : cell - width
  }
  return sum
}

/** Throttled, failed and unreachable. */
export function errors(window: Window, at: number, config: WindowConfig): number {
  return (
    total(window, 'throttled', at, config) +
    total(window, 'serverErrors', at, config) +
    total(window, 'networkErrors', at, config)
  )
}

/** Their share among all; 0 when nothing happened. */
export function errorRate(window: Window, at: number, config: WindowConfig): number {
  return errors(window, at, config) / Math.max(1, total(window, 'total', at, config))
}

const rowsOf = (config: WindowConfig) => config.statsWindowMs / config.statsBucketMs
const bucketOf = (at: number, config: WindowConfig) => Math.floor(at / config.statsBucketMs)

function cellOf(bucket: number, series: WindowSeries, rows: number): number {
  const row = ((bucket % rows) + rows) % rows
  return row * width + column[series]
}

// A ring of another size comes from a snapshot taken under another configuration.
function isForgotten(window: Window, bucket: number, rows: number): boolean {
  return window.counts.length !== rows * width || Math.abs(bucket - window.latest) >= rows
}

function restart(window: Window, bucket: number, rows: number): void {
  window.latest = bucket
  window.counts.length = rows * width
  window.counts.fill(0)
}
