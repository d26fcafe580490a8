/**
 * Who may ask a domain now, who waits, and until when: the limiter's arithmetic, without its states.
 *
 * A permit is a lease: it is given back by its holder, or comes back by itself at `until`. A waiter
 * is granted, refused or abandoned in the end, because it too has an `until`. Waiters stand in the
 * order of their rank: the time they came, less a head start for each step of priority. So equals
 * are served in the order of arrival, and the important cannot starve the rest: they overtake only
 * those who came at most their head start before them.
 */
import {
  type Budget,
  emptyBudget,
  type Flow,
  hasToken,
  type Ramp,
  refilled,
  take,
  waitMs,
} from './budget.ts'
import { onGrant, type Pace } from './pace.ts'
import type { RateLimitConfig } from './rate-limit-config.ts'

export interface Waiter {
  readonly id: string
  readonly rank: number
  readonly since: number
  readonly until: number
}

export interface Permit {
  readonly id: string
  readonly grantedAt: number
  readonly until: number
}

export interface Admission {
  readonly budget: Budget
  readonly pace: Pace
  /** Slow start after the circuit breaker has closed. */
  readonly ramp: Ramp | null
  readonly waiters: readonly Waiter[]
  /** In the order of granting, which is also that of their deadlines. */
  readonly permits: readonly Permit[]
  /** Retry-After: nothing is granted earlier. */
  readonly notBefore: number | null
  readonly lastGrantAt: number | null
  readonly dueAt: number | null
}

export type AdmissionCommand =
  | {
      readonly type: 'grant'
      readonly id: string
      readonly until: number
      readonly waitedMs: number
    }
  | { readonly type: 'refuse'; readonly id: string; readonly reason: 'queueFull' | 'waitedTooLong' }
  | { readonly type: 'reclaim'; readonly id: string }

export interface Admitted<T extends Admission> {
  readonly next: T
  readonly commands: readonly AdmissionCommand[]
}

export interface Request {
  readonly id: string
  readonly priority?: number | undefined
  /** How long the asker is willing to wait; never longer than the configured maximum. */
  readonly waitMs?: number | undefined
}

export function flowOf({ pace, ramp }: Admission, config: RateLimitConfig): Flow {
  return { ratePerSecond: pace.ratePerSecond, capacity: config.tokenBucketCapacity, ramp }
}

/** The earliest instant at which one more permit may be granted; null while every place is taken. */
export function grantableAt(
  admission: Admission,
  at: number,
  config: RateLimitConfig,
): number | null {
  const { budget, permits, notBefore, lastGrantAt } = admission
  const cooledAt = notBefore ?? at
  if (!config.enabled) return Math.max(at, cooledAt)
  if (permits.length >= config.maxConcurrent) return null
  const spacedAt = lastGrantAt === null ? at : lastGrantAt + config.minDelayMs
  const tokenAt = Math.floor(at) + waitMs(budget, flowOf(admission, config), at)
  return Math.max(at, cooledAt, spacedAt, tokenAt)
}

export function isGrantable(admission: Admission, at: number, config: RateLimitConfig): boolean {
  return grantableAt(admission, at, config) === at
}

export function queued<T extends Admission>(
  admission: T,
  request: Request,
  at: number,
  config: RateLimitConfig,
): T {
  const waiter: Waiter = {
    id: request.id,
    rank: at - (request.priority ?? 0) * config.priorityHeadStartMs,
    since: at,
    until: at + Math.min(request.waitMs ?? config.waitMsMax, config.waitMsMax),
  }
  const { waiters } = admission
  const behind = waiters.findIndex(({ rank }) => rank > waiter.rank)
  return {
    ...admission,
    waiters: waiters.toSpliced(behind < 0 ? waiters.length : behind, 0, waiter),
  }
}

/** Takes back what has run out, grants what can be granted, and sets the next deadline. */
export function served<T extends Admission>(
  admission: T,
  at: number,
  config: RateLimitConfig,
): Admitted<T> {
  const commands: AdmissionCommand[] = []
  let next = withoutExpired(admission, at, config, commands)
  while (next.waiters.length > 0 && isGrantable(next, at, config))
    next = withFirstGranted(next, at, config, commands)
  // Who wanted to wait until just now had its chance just now.
  next = withRefused(next, ({ until }) => until <= at, commands)
  const grantAt = next.waiters.length > 0 ? grantableAt(next, at, config) : null
  return { next: { ...next, dueAt: earliest(grantAt, endOf(next)) }, commands }
}

/** Takes back what has run out and grants nothing: for a domain that is paused. */
export function kept<T extends Admission>(
  admission: T,
  at: number,
  config: RateLimitConfig,
): Admitted<T> {
  const commands: AdmissionCommand[] = []
  const expired = withoutExpired(admission, at, config, commands)
  const next = withRefused(expired, ({ until }) => until <= at, commands)
  return { next: { ...next, dueAt: endOf(next) }, commands }
}

/** Without this permit or waiter; unknown ids change nothing. */
export function withdrawn<T extends Admission>(admission: T, id: string): T {
  const permits = without(admission.permits, id)
  const waiters = without(admission.waiters, id)
  return { ...admission, permits, waiters }
}

/**
 * After a restart nothing is saved up, and the last grant may be one we no longer know of: a crash
 * can make us slower, never faster.
 */
export function restarted<T extends Admission>(admission: T, at: number): T {
  return { ...admission, budget: emptyBudget(at), lastGrantAt: at }
}

export function isKnown({ permits, waiters }: Admission, id: string): boolean {
  return permits.some((permit) => permit.id === id) || waiters.some((waiter) => waiter.id === id)
}

function withFirstGranted<T extends Admission>(
  admission: T,
  at: number,
  config: RateLimitConfig,
  commands: AdmissionCommand[],
): T {
  const [first, ...waiters] = admission.waiters as readonly [Waiter, ...Waiter[]]
  const permit: Permit = { id: first.id, grantedAt: at, until: at + config.permitMs }
  commands.push({ type: 'grant', id: permit.id, until: permit.until, waitedMs: at - first.since })
  return {
    ...admission,
    waiters,
    permits: [...admission.permits, permit],
    budget: spent(refilled(admission.budget, flowOf(admission, config), at)),
    pace: onGrant(admission.pace, at),
    lastGrantAt: at,
  }
}

/** A limiter that is switched off grants without a token; there is none to take. */
function spent(budget: Budget): Budget {
  return hasToken(budget) ? take(budget) : budget
}

function withRefused<T extends Admission>(
  admission: T,
  isOver: (waiter: Waiter) => boolean,
  commands: AdmissionCommand[],
): T {
  const over = admission.waiters.filter(isOver)
  if (over.length === 0) return admission
  for (const { id } of over) commands.push({ type: 'refuse', id, reason: 'waitedTooLong' })
  return { ...admission, waiters: admission.waiters.filter((waiter) => !isOver(waiter)) }
}

function withoutExpired<T extends Admission>(
  admission: T,
  at: number,
  config: RateLimitConfig,
  commands: AdmissionCommand[],
): T {
  const { permits, notBefore, ramp } = admission
  const lost = permits.filter(({ until }) => until <= at)
  const isCooled = notBefore !== null && notBefore <= at
  const isRamped = ramp !== null && ramp.until <= at
  const next = withRefused(admission, ({ until }) => until < at, commands)
  if (lost.length === 0 && !isCooled && !isRamped) return next
  for (const { id } of lost) commands.push({ type: 'reclaim', id })
  return {
    ...next,
    // Filled along the ramp before the ramp goes: past time is credited at the rate it had.
    budget: isRamped ? refilled(next.budget, flowOf(next, config), at) : next.budget,
    permits: lost.length > 0 ? permits.filter(({ until }) => until > at) : permits,
    notBefore: isCooled ? null : notBefore,
    ramp: isRamped ? null : ramp,
  }
}

/** When the first permit, waiter or Retry-After runs out. */
function endOf({ permits, waiters, notBefore }: Admission): number | null {
  let end = earliest(notBefore, permits[0]?.until ?? null)
  for (const { until } of waiters) end = earliest(end, until)
  return end
}

function earliest(a: number | null, b: number | null): number | null {
  if (a === null) return b
  return b === null || a < b ? a : b
}

function without<T extends { readonly id: string }>(items: readonly T[], id: string): readonly T[] {
  return items.some((item) => item.id === id) ? items.filter((item) => item.id !== id) : items
}
