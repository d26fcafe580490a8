/**
 * The circuit breaker of one domain: whether it is worth asking at all.
 *
 *   closed    requests pass; their outcomes are counted
 *   open      requests are refused until `dueAt`
 *   halfOpen  a few probes may pass; the first failure opens again, enough successes close
 *
 * What holds: only 429, 5xx and network errors count, and a directed Retry-After never does; in one
 * half-open period probes under way and probes that succeeded are never more than the budget; a
 * probe is a lease, so a lost one cannot keep the breaker half-open for ever.
 */
import { setup } from 'xstate'
import { type Feedback, isDirected } from './feedback.ts'
import { countsAgainstBreaker, type OutcomeKind } from './outcome.ts'
import type { RateLimitConfig } from './rate-limit-config.ts'
import type { Stamp } from './stamp.ts'
import { emptyWindow, errors, record, total, type Window, type WindowSeries } from './window.ts'

export interface Probe {
  readonly id: string
  readonly until: number
}

export interface BreakerContext {
  readonly window: Window
  readonly consecutiveFailures: number
  /** How often it has opened since it was last closed; each time it stays open longer. */
  readonly openings: number
  readonly probes: readonly Probe[]
  readonly probesSucceeded: number
  readonly dueAt: number | null
}

export type BreakerMessage =
  | { readonly type: 'ADMIT'; readonly id: string }
  | ({ readonly type: 'FEEDBACK' } & Feedback)
  /** The permit was not used, or its outcome says nothing about the server. */
  | { readonly type: 'ABANDONED'; readonly id: string }
  | { readonly type: 'DUE' }
  /** Another node has opened the breaker of this domain. */
  | { readonly type: 'TRIPPED'; readonly until: number }
  /** An operator closes it. */
  | { readonly type: 'RESET' }

export type BreakerEvent = BreakerMessage & Stamp

export type BreakerCommand =
  | { readonly type: 'admit'; readonly id: string; readonly isProbe: boolean }
  /** `until` is null while probes decide. */
  | { readonly type: 'refuse'; readonly id: string; readonly until: number | null }
  /** Tell everybody who waits, here and on other nodes. */
  | { readonly type: 'announceOpen'; readonly until: number }
  /** Let the limiter go on with a share of its rate. */
  | { readonly type: 'slowStart' }

const types = {
  context: {} as BreakerContext,
  events: {} as BreakerEvent,
  emitted: {} as BreakerCommand,
  tags: {} as 'checkpoint' | 'evictable' | 'urgent',
}

// Domains that failed together do not come back together.
const openJitterShare = 0.1

export function breakerMachine(config: RateLimitConfig) {
  const base = setup({
    types,
    guards: {
      trips: ({ context, event }) => trips(context, event, config),
      isProbe: ({ context, event }) => isProbe(context, event),
      isFailedProbe: ({ context, event }) => isProbe(context, event) && isFailure(event),
      isLastSuccess: ({ context, event }) =>
        isProbe(context, event) &&
        isSuccess(event) &&
        context.probesSucceeded + 1 >= config.halfOpenProbes,
      mayProbe: ({ context }) =>
        context.probes.length + context.probesSucceeded < config.halfOpenProbes,
      isKnownProbe: ({ context, event }) =>
        event.type === 'ADMIT' && context.probes.some(({ id }) => id === event.id),
    },
  })

  const machine = base.extend({
    actions: {
      admit: base.emit(({ event }) => ({ type: 'admit', id: idOf(event), isProbe: false })),
      admitProbe: base.emit(({ event }) => ({ type: 'admit', id: idOf(event), isProbe: true })),
      refuse: base.emit(({ context, event }) => ({
        type: 'refuse',
        id: idOf(event),
        until: context.dueAt,
      })),
      refuseWhileProbing: base.emit(({ event }) => ({
        type: 'refuse',
        id: idOf(event),
        until: null,
      })),
      announceOpen: base.emit(({ context, event }) => ({
        type: 'announceOpen',
        until: context.dueAt ?? event.at,
      })),
      slowStart: base.emit({ type: 'slowStart' }),
      count: base.assign(({ context, event }) => counted(context, event, config)),
      open: base.assign(({ context, event }) => ({
        ...counted(context, event, config),
        openings: oneMore(context.openings, config),
        probes: [],
        probesSucceeded: 0,
        dueAt: event.at + openMs(context.openings, event.roll, config),
      })),
      stayOpen: base.assign(({ context, event }) => ({
        dueAt: Math.max(context.dueAt ?? 0, trippedUntil(event)),
      })),
      openAsTold: base.assign(({ context, event }) => ({
        openings: oneMore(context.openings, config),
        probes: [],
        probesSucceeded: 0,
        dueAt: Math.max(trippedUntil(event), event.at),
      })),
      beginProbing: base.assign({ probes: [], probesSucceeded: 0, dueAt: null }),
      sendProbe: base.assign(({ context, event }) =>
        withProbes([...context.probes, { id: idOf(event), until: event.at + config.permitMs }]),
      ),
      takeProbe: base.assign(({ context, event }) => ({
        ...withProbes(context.probes.filter(({ id }) => id !== idOf(event))),
        probesSucceeded: context.probesSucceeded + (isSuccess(event) ? 1 : 0),
      })),
      dropExpiredProbes: base.assign(({ context, event }) =>
        withProbes(context.probes.filter(({ until }) => until > event.at)),
      ),
      forget: base.assign(() => fresh()),
    },
  })

  return machine.createMachine({
    id: 'breaker',
    version: '1',
    description: 'Decides whether one domain is worth asking at all.',
    context: () => fresh(),
    initial: 'closed',
    on: {
      RESET: {
        target: '.closed',
        actions: 'forget',
        description: 'An operator closes it and forgets what was counted.',
      },
    },
    states: {
      closed: {
        description: 'Requests pass, and their outcomes are counted.',
        tags: ['checkpoint', 'evictable'],
        on: {
          ADMIT: { actions: 'admit', description: 'The domain may be asked.' },
          FEEDBACK: [
            {
              guard: 'trips',
              target: 'open',
              actions: ['open', 'announceOpen'],
              description: 'Too many failures in a row, or too large a share of the window.',
            },
            { actions: 'count', description: 'The outcome is counted.' },
          ],
          TRIPPED: {
            target: 'open',
            actions: 'openAsTold',
            description: 'Another node has found the domain failing.',
          },
        },
      },
      open: {
        description: 'The domain is left alone until the deadline.',
        tags: ['checkpoint', 'urgent'],
        on: {
          ADMIT: { actions: 'refuse', description: 'Not before the deadline.' },
          DUE: {
            target: 'halfOpen',
            actions: 'beginProbing',
            description: 'Long enough: a few probes may try.',
          },
          TRIPPED: { actions: 'stayOpen', description: 'The later deadline counts.' },
        },
      },
      halfOpen: {
        description: 'A few probes find out whether the domain has recovered.',
        // Only without a probe under way: those have a deadline, and who has one stays awake.
        tags: ['checkpoint', 'evictable'],
        on: {
          ADMIT: [
            {
              guard: 'isKnownProbe',
              actions: 'admitProbe',
              description: 'Asked before with the same id: it is the same probe.',
            },
            {
              guard: 'mayProbe',
              actions: ['sendProbe', 'admitProbe'],
              description: 'Part of the budget is left.',
            },
            { actions: 'refuseWhileProbing', description: 'Others are trying already.' },
          ],
          FEEDBACK: [
            {
              guard: 'isFailedProbe',
              target: 'open',
              actions: ['open', 'announceOpen'],
              description: 'Not recovered: open again, and for longer.',
            },
            {
              guard: 'isLastSuccess',
              target: 'closed',
              actions: ['forget', 'slowStart'],
              description: 'Enough probes have succeeded.',
            },
            {
              guard: 'isProbe',
              actions: 'takeProbe',
              description: 'One more success, or a directed wait that says neither.',
            },
          ],
          ABANDONED: { actions: 'takeProbe', description: 'Its part of the budget comes back.' },
          DUE: {
            actions: 'dropExpiredProbes',
            description: 'A probe was lost: its part of the budget comes back.',
          },
          TRIPPED: {
            target: 'open',
            actions: 'openAsTold',
            description: 'A probe of another node has failed.',
          },
        },
      },
    },
    options: { maxIterations: 100 },
  })
}

function fresh(): BreakerContext {
  return {
    window: emptyWindow(),
    consecutiveFailures: 0,
    openings: 0,
    probes: [],
    probesSucceeded: 0,
    dueAt: null,
  }
}

/** Whether this outcome, counted, would open the breaker. Looks only; counting is an action. */
function trips(context: BreakerContext, event: BreakerEvent, config: RateLimitConfig): boolean {
  if (!isFailure(event)) return false
  if (context.consecutiveFailures + 1 >= config.consecutiveFailThreshold) return true
  const seen = total(context.window, 'total', event.at, config)
  const failed = errors(context.window, event.at, config)
  return (
    seen + 1 >= config.minSamplesToTrip && (failed + 1) / (seen + 1) >= config.errorRateThreshold
  )
}

/** Counted in place: the window is the actor's own ring. A directed wait leaves no trace. */
function counted(
  context: BreakerContext,
  event: BreakerEvent,
  config: RateLimitConfig,
): Pick<BreakerContext, 'consecutiveFailures'> {
  if (event.type !== 'FEEDBACK' || isDirected(event)) return context
  const series = errorSeries[event.kind]
  record(context.window, 'total', event.at, config)
  if (series) record(context.window, series, event.at, config)
  return { consecutiveFailures: series ? context.consecutiveFailures + 1 : 0 }
}

const errorSeries: { readonly [Kind in OutcomeKind]?: WindowSeries } = {
  throttled: 'throttled',
  overloaded: 'serverErrors',
  serverError: 'serverErrors',
  network: 'networkErrors',
}

function openMs(openings: number, roll: number, config: RateLimitConfig): number {
  const doubled = config.openStateMs * 2 ** openings
  return Math.min(doubled, config.openStateMsMax) * (1 + openJitterShare * roll)
}

/** Counts no further than makes a difference. */
function oneMore(openings: number, { openStateMs, openStateMsMax }: RateLimitConfig): number {
  return openStateMs * 2 ** openings < openStateMsMax ? openings + 1 : openings
}

function withProbes(probes: readonly Probe[]): Pick<BreakerContext, 'probes' | 'dueAt'> {
  return { probes, dueAt: probes[0]?.until ?? null }
}

function isProbe({ probes }: BreakerContext, event: BreakerEvent): boolean {
  return event.type === 'FEEDBACK' && probes.some(({ id }) => id === event.id)
}

function isFailure(event: BreakerEvent): boolean {
  return event.type === 'FEEDBACK' && countsAgainstBreaker(event.kind, isDirected(event))
}

function isSuccess(event: BreakerEvent): boolean {
  return event.type === 'FEEDBACK' && !isFailure(event) && !isDirected(event)
}

function idOf(event: BreakerEvent): string {
  if (!('id' in event)) throw new Error(`${event.type} carries no id.`)
  return event.id
}

function trippedUntil(event: BreakerEvent): number {
  if (event.type !== 'TRIPPED') throw new Error(`${event.type} carries no deadline.`)
  return event.until
}
