/**
 * What a limiter has come to know about its server, and how it learns: the rate the server bears,
 * how fast it answers, and when it wants to be asked again.
 */
import { type Admission, flowOf, restarted } from './admission.ts'
import { refilled } from './budget.ts'
import { type Feedback, isDirected } from './feedback.ts'
import { initialLatency, type Latency, observe, speedOf } from './latency.ts'
import { slowsDown } from './outcome.ts'
import type { Pace, Seen } from './pace.ts'
import type { RateLimitConfig } from './rate-limit-config.ts'
import { strategyOf } from './strategy.ts'

export interface Acquaintance extends Admission {
  readonly latency: Latency
}

/** The answer's speed is judged before it moves the yardstick, and past time keeps its old rate. */
export function learned<T extends Acquaintance>(
  context: T,
  feedback: Feedback,
  at: number,
  config: RateLimitConfig,
): T {
  const { id, latencyMs, retryAfterMs } = feedback
  const { latency, permits, notBefore } = context
  const speed = latencyMs === null ? 'slow' : speedOf(latency, latencyMs, config)
  if (latencyMs !== null) observe(latency, latencyMs, config)
  const grantedAt = permits.find((permit) => permit.id === id)?.grantedAt ?? at
  const cooledAt = isDirected(feedback) ? at + (retryAfterMs ?? 0) : null
  return {
    ...context,
    budget: refilled(context.budget, flowOf(context, config), at),
    pace: paced(context.pace, feedback, { at, grantedAt, speed }, config),
    notBefore: cooledAt === null ? notBefore : Math.max(cooledAt, notBefore ?? 0),
  }
}

function paced(pace: Pace, feedback: Feedback, seen: Seen, config: RateLimitConfig): Pace {
  const strategy = strategyOf(config)
  if (slowsDown(feedback.kind) || isDirected(feedback))
    return strategy.onSlowDown(pace, seen, config)
  return feedback.kind === 'success' ? strategy.onSuccess(pace, seen, config) : pace
}

/** After the circuit breaker has closed: nothing saved up, and a share of the rate that grows. */
export function slowlyStarted<T extends Acquaintance>(
  context: T,
  at: number,
  { slowStartMs, slowStartShare }: RateLimitConfig,
): T {
  const ramp = { from: at, until: at + slowStartMs, share: slowStartShare }
  return { ...restarted(context, at), ramp: slowStartMs > 0 ? ramp : null }
}

/** Everything learned is gone; waiters and permits stay. */
export function forgotten<T extends Acquaintance>(
  context: T,
  at: number,
  config: RateLimitConfig,
): T {
  return {
    ...context,
    budget: refilled(context.budget, flowOf(context, config), at),
    pace: strategyOf(config).initial(config),
    latency: initialLatency(config),
    notBefore: null,
    ramp: null,
  }
}
