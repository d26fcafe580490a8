/**
 * A token budget: what a domain may be asked for, saved up at a rate, up to a capacity.
 *
 * Promise: whatever the order and spacing of calls, the tokens taken in any window number at most
 * rate × window + capacity, and whoever waits `waitMs` finds a whole token if nobody took it first.
 * Both hold to the last digit, because nothing is ever rounded up: tokens are counted in billionths
 * and rates in millionths per second, so a millisecond's gain is a whole number of billionths.
 * Time is counted in whole milliseconds; a fraction is dropped.
 *
 * A clock that goes back adds nothing, and nothing is added again until it has caught up.
 * Before the rate changes, refill at the old one: past time is credited at the rate it is given.
 */

export interface Budget {
  readonly tokens: number
  readonly refilledAt: number
}

export interface Flow {
  readonly ratePerSecond: number
  readonly capacity: number
  readonly ramp: Ramp | null
}

/** Slow start: from a share of itself, which also holds before, the rate climbs in a straight line. */
export interface Ramp {
  readonly from: number
  readonly until: number
  readonly share: number
}

const billion = 1e9

export function emptyBudget(at: number): Budget {
  return { tokens: 0, refilledAt: Math.floor(at) }
}

export function refilled(budget: Budget, flow: Flow, at: number): Budget {
  const now = Math.floor(at)
  if (now <= budget.refilledAt) return budget
  const gained = gainedBillionths(flow, budget.refilledAt, now)
  const held = Math.min(billionths(budget.tokens) + gained, Math.floor(flow.capacity * billion))
  return { tokens: held / billion, refilledAt: now }
}

/** Ask `hasToken` first: taking what is not there would be a debt, and is a mistake. */
export function take(budget: Budget): Budget {
  if (!hasToken(budget)) throw new RangeError('No whole token to take: ask hasToken first.')
  return { ...budget, tokens: (billionths(budget.tokens) - billion) / billion }
}

export function hasToken(budget: Budget): boolean {
  return budget.tokens >= 1
}

/** Whole milliseconds from `at` until the budget, left alone, holds a whole token. */
export function waitMs(budget: Budget, flow: Flow, at: number): number {
  const now = Math.floor(at)
  const { tokens, refilledAt } = refilled(budget, flow, now)
  const missing = billion - billionths(tokens)
  if (missing <= 0) return 0
  return Math.min(refilledAt - now + fillMs(flow, refilledAt, missing), Number.MAX_SAFE_INTEGER)
}

const billionths = (tokens: number) => Math.round(tokens * billion)

/** Billionths per millisecond, which is millionths per second: the most that do not exceed the rate. */
function gainPerMs({ ratePerSecond }: Flow): number {
  const nearest = Math.round(ratePerSecond * 1e6)
  return nearest / 1e6 <= ratePerSecond ? nearest : nearest - 1
}

function gainedBillionths(flow: Flow, from: number, to: number): number {
  return Math.floor(effectiveMs(flow.ramp, from, to) * gainPerMs(flow))
}

/** The fewest whole milliseconds from `from` that yield what is missing. */
function fillMs(flow: Flow, from: number, missing: number): number {
  const atFullRateMs = Math.ceil(missing / gainPerMs(flow))
  const rampLeftMs = Math.max(0, (flow.ramp?.until ?? from) - from)
  if (rampLeftMs === 0 || atFullRateMs > Number.MAX_SAFE_INTEGER) return atFullRateMs
  let tooFew = atFullRateMs - 1
  let enough = atFullRateMs + rampLeftMs
  while (enough - tooFew > 1) {
    const half = Math.floor((tooFew + enough) / 2)
    if (gainedBillionths(flow, from, from + half) >= missing) enough = half
    else tooFew = half
  }
  return enough
}

function effectiveMs(ramp: Ramp | null, from: number, to: number): number {
  return ramp === null ? to - from : to - from - (lostMs(ramp, to) - lostMs(ramp, from))
}

/** How much time the ramp has cost between its beginning and `at`: the area above its line. */
function lostMs({ from, until, share }: Ramp, at: number): number {
  const lengthMs = until - from
  if (lengthMs <= 0) return 0
  if (at <= from) return (1 - share) * (at - from)
  const intoMs = Math.min(at - from, lengthMs)
  return (1 - share) * (intoMs - intoMs ** 2 / (2 * lengthMs))
}
