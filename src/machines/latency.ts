/**
 * How long a domain takes to answer: a moving average for judging single answers, and a ring of
 * recent ones for the 95th percentile.
 *
 * Updated in place, without allocating once the ring is full. Whoever keeps or explores snapshots
 * of a context that holds one copies it through JSON first. Plain numbers throughout; a domain that
 * never answered costs an empty array.
 */

import type { RateLimitConfig } from './rate-limit-config.ts'

type LatencyConfig = Pick<
  RateLimitConfig,
  'latencyTargetMs' | 'latencyDegradeFactor' | 'latencyEwmaWeight' | 'latencySamplesMax'
>

export interface Latency {
  ewmaMs: number
  /** Where the next sample goes once the ring is full: the oldest one's place. */
  next: number
  readonly samplesMs: number[]
}

/** `fast` is within the target, `degraded` beyond the target by the configured factor. */
export type Speed = 'fast' | 'slow' | 'degraded'

/** Starts at the initial target, so that the first answers move an expectation, not a void. */
export function initialLatency(config: LatencyConfig): Latency {
  return { ewmaMs: config.latencyTargetMs, next: 0, samplesMs: [] }
}

/** Takes in one answer's duration. Judge it first: the answer must not move its own yardstick. */
export function observe(latency: Latency, ms: number, config: LatencyConfig): void {
  const { samplesMs } = latency
  const { latencySamplesMax, latencyEwmaWeight } = config
  latency.ewmaMs += latencyEwmaWeight * (ms - latency.ewmaMs)
  if (samplesMs.length > latencySamplesMax) samplesMs.length = latencySamplesMax
  if (samplesMs.length < latencySamplesMax) {
    samplesMs.push(ms)
    return
  }
  samplesMs[latency.next % latencySamplesMax] = ms
  latency.next = (latency.next + 1) % latencySamplesMax
}

/** The smallest duration that at least 95 % of the samples do not exceed; null without samples. */
export function p95(latency: Latency): number | null {
  const ordered = latency.samplesMs.toSorted((a, b) => a - b)
  return ordered[Math.ceil(ordered.length * 0.95) - 1] ?? null
}

/**
 * What counts as usual: the average, but never below the initial expectation (a host that is
 * usually instant may take that long) nor above it by more than the degrade factor (a host that
 * gets slower and slower does not talk us into finding that normal).
 */
export function targetMs(latency: Latency, config: LatencyConfig): number {
  const { latencyTargetMs, latencyDegradeFactor } = config
  return Math.min(Math.max(latency.ewmaMs, latencyTargetMs), latencyTargetMs * latencyDegradeFactor)
}

export function isDegraded(latency: Latency, ms: number, config: LatencyConfig): boolean {
  return ms >= targetMs(latency, config) * config.latencyDegradeFactor
}

export function speedOf(latency: Latency, ms: number, config: LatencyConfig): Speed {
  if (isDegraded(latency, ms, config)) return 'degraded'
  return ms < targetMs(latency, config) ? 'fast' : 'slow'
}
