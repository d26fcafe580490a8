/** What every statement of the store is made from. */
import type { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../../actors/ports.ts'
import type { StoreLimits } from '../job-store.ts'

export interface StoreContext {
  readonly database: DatabaseSync
  /** The store's clock: decides about leases and what is due. */
  readonly clock: Clock
  readonly limits: StoreLimits
}

// Now is rounded down and a deadline up, so that nothing is ever due a fraction too early.

export function nowMs(clock: Pick<Clock, 'now'>): number {
  return Math.floor(clock.now())
}

export function afterMs(clock: Pick<Clock, 'now'>, delayMs: number): number {
  return Math.ceil(clock.now() + delayMs)
}
