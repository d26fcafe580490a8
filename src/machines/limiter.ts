/**
 * The limiter of one domain (or one resolver): who may ask it, and when.
 *
 *   idle     nobody waits, nothing is under way; may be put to sleep
 *   flowing  requests are under way, whoever asks is let through at once
 *   pacing   somebody waits: for a token, a free place, or the delay between requests
 *   cooling  the server has said when to come back; nothing is granted before `notBefore`
 *   paused   an operator has stopped the domain
 *
 * What holds: tokens never below zero nor above the capacity; permits never more than
 * `maxConcurrent`; no grant before `notBefore` or while paused; every waiter is granted, refused or
 * abandoned in the end. Asking again with the same id costs nothing: commands may be repeated.
 */
import { setup } from 'xstate'
import { type Acquaintance, forgotten, learned, slowlyStarted } from './acquaintance.ts'
import {
  type AdmissionCommand,
  type Admitted,
  isGrantable,
  isKnown,
  kept,
  queued,
  type Request,
  restarted,
  served,
  withdrawn,
} from './admission.ts'
import { emptyBudget } from './budget.ts'
import { type Feedback, isDirected } from './feedback.ts'
import { initialLatency } from './latency.ts'
import type { RateLimitConfig } from './rate-limit-config.ts'
import type { Stamp } from './stamp.ts'
import { strategyOf } from './strategy.ts'

export type LimiterContext = Acquaintance

export interface LimiterInput extends Stamp {
  /** Tokens to begin with, from one who knows that the domain has not been asked lately. */
  readonly tokens?: number
}

/** What may be sent to a limiter; the host adds the stamp. */
export type LimiterMessage =
  | ({ readonly type: 'ACQUIRE' } & Request)
  /** The asker no longer wants to wait, or returns a permit it did not use. */
  | { readonly type: 'ABANDONED'; readonly id: string }
  | ({ readonly type: 'FEEDBACK' } & Feedback)
  /** The answer is read to its end: its place is free again. */
  | { readonly type: 'RELEASED'; readonly id: string }
  | { readonly type: 'DUE' }
  | { readonly type: 'RESUMED' }
  | { readonly type: 'PAUSED' }
  | { readonly type: 'CONTINUED' }
  /** The circuit breaker has closed: go on with a share of the rate. */
  | { readonly type: 'RECOVERED' }
  /** An operator wants everything learned to be forgotten. */
  | { readonly type: 'RESET' }

export type LimiterEvent = LimiterMessage & Stamp
export type LimiterCommand = AdmissionCommand

const types = {
  context: {} as LimiterContext,
  events: {} as LimiterEvent,
  input: {} as LimiterInput,
  emitted: {} as LimiterCommand,
  tags: {} as 'checkpoint' | 'evictable' | 'urgent',
}

export function limiterMachine(config: RateLimitConfig) {
  const base = setup({
    types,
    guards: {
      isGrantable: ({ context, event }) => isGrantable(context, event.at, config),
      isKnown: ({ context, event }) => event.type === 'ACQUIRE' && isKnown(context, event.id),
      isFull: ({ context }) => context.waiters.length >= config.waitersMax,
      isDirected: ({ event }) => event.type === 'FEEDBACK' && isDirected(event),
      isStillCooling: ({ context, event }) =>
        context.notBefore !== null && context.notBefore > event.at,
      hasCooled: ({ context }) => context.notBefore === null,
      isLast: ({ context, event }) => endsAllPermits(context, event),
      nobodyWaits: ({ context }) => context.waiters.length === 0,
      nothingIsUnderWay: ({ context }) =>
        context.waiters.length === 0 && context.permits.length === 0,
    },
  })

  /** An action: the new context, and the commands that follow from it. */
  const change = (
    decide: (context: LimiterContext, event: LimiterEvent) => Admitted<LimiterContext>,
  ) =>
    base.enqueueActions(({ context, event, enqueue }) => {
      const { next, commands } = decide(context, event)
      enqueue.assign(() => next)
      for (const command of commands) enqueue.emit(command)
    })
  const serving = (step: (context: LimiterContext, event: LimiterEvent) => LimiterContext) =>
    change((context, event) => served(step(context, event), event.at, config))
  const keeping = (step: (context: LimiterContext, event: LimiterEvent) => LimiterContext) =>
    change((context, event) => kept(step(context, event), event.at, config))

  const join = (context: LimiterContext, event: LimiterEvent) =>
    queued(context, requestOf(event), event.at, config)
  const learn = (context: LimiterContext, event: LimiterEvent) =>
    withReturned(learned(context, feedbackOf(event), event.at, config), event)
  const restart = (context: LimiterContext, event: LimiterEvent) => restarted(context, event.at)
  const slowStart = (context: LimiterContext, event: LimiterEvent) =>
    slowlyStarted(context, event.at, config)
  const forget = (context: LimiterContext, event: LimiterEvent) =>
    forgotten(context, event.at, config)

  const machine = base.extend({
    actions: {
      admit: serving(join),
      queue: keeping(join),
      refuse: change((next, event) => ({
        next,
        commands: [{ type: 'refuse', id: requestOf(event).id, reason: 'queueFull' }],
      })),
      grantAgain: change((next, event) => ({
        next,
        commands: grantsOf(next, requestOf(event).id),
      })),
      learn: serving(learn),
      learnOnly: keeping(learn),
      serve: serving(withReturned),
      tidy: keeping(withReturned),
      restart: serving(restart),
      restartPaused: keeping(restart),
      slowStart: serving(slowStart),
      slowStartPaused: keeping(slowStart),
      forget: serving(forget),
      forgetPaused: keeping(forget),
    },
  })

  const again = {
    guard: 'isKnown',
    actions: 'grantAgain',
    description: 'Asked before with the same id: a grant is repeated, a waiter keeps its place.',
  } as const
  const full = {
    guard: 'isFull',
    actions: 'refuse',
    description: 'Too many wait already.',
  } as const

  return machine.createMachine({
    id: 'limiter',
    version: '1',
    description: 'Decides who may ask one domain, and when.',
    context: ({ input }) => ({
      budget: { ...emptyBudget(input?.at ?? 0), tokens: input?.tokens ?? 0 },
      pace: strategyOf(config).initial(config),
      latency: initialLatency(config),
      ramp: null,
      waiters: [],
      permits: [],
      notBefore: null,
      // Who does not know when the domain was last asked, takes it that it was just now.
      lastGrantAt: input?.tokens === undefined ? (input?.at ?? 0) : null,
      dueAt: null,
    }),
    initial: 'idle',
    on: {
      PAUSED: {
        target: '.paused',
        actions: 'tidy',
        description: 'An operator stops the domain; what is under way may end.',
      },
      RESUMED: {
        actions: 'restart',
        description: 'Back from a snapshot: saved-up tokens are gone, waits and leases go on.',
      },
      RECOVERED: {
        actions: 'slowStart',
        description: 'The breaker has closed: go on with a share of the rate and grow.',
      },
      RESET: { actions: 'forget', description: 'Forget what was learned about the server.' },
    },
    states: {
      idle: {
        description: 'Nobody waits and nothing is under way.',
        tags: ['checkpoint', 'evictable'],
        on: {
          ACQUIRE: [
            {
              guard: 'isGrantable',
              target: 'flowing',
              actions: 'admit',
              description: 'A token and a place are free.',
            },
            { target: 'pacing', actions: 'admit', description: 'It has to wait for its token.' },
          ],
          FEEDBACK: [
            {
              guard: 'isDirected',
              target: 'cooling',
              actions: 'learn',
              description: 'A late answer says when to come back.',
            },
            { actions: 'learn', description: 'A late answer still teaches.' },
          ],
        },
      },
      flowing: {
        description: 'Requests are under way; whoever asks is let through at once.',
        tags: ['checkpoint'],
        always: {
          guard: 'nothingIsUnderWay',
          target: 'idle',
          description: 'Permits ran out while nobody was here to see it.',
        },
        on: {
          ACQUIRE: [
            again,
            {
              guard: 'isGrantable',
              actions: 'admit',
              description: 'A token and a place are free.',
            },
            { target: 'pacing', actions: 'admit', description: 'It has to wait.' },
          ],
          FEEDBACK: [
            {
              guard: 'isDirected',
              target: 'cooling',
              actions: 'learn',
              description: 'The server says when to come back.',
            },
            {
              guard: 'isLast',
              target: 'idle',
              actions: 'learn',
              description: 'The last request has been answered.',
            },
            { actions: 'learn', description: 'The answer moves the rate.' },
          ],
          RELEASED: [
            {
              guard: 'isLast',
              target: 'idle',
              actions: 'serve',
              description: 'The last one ends.',
            },
            { actions: 'serve', description: 'A place is free again.' },
          ],
          ABANDONED: [
            {
              guard: 'isLast',
              target: 'idle',
              actions: 'serve',
              description: 'The last permit was not needed.',
            },
            { actions: 'serve', description: 'A permit was not needed.' },
          ],
          DUE: [
            {
              guard: 'isLast',
              target: 'idle',
              actions: 'serve',
              description: 'The last permit ran out: its holder is gone.',
            },
            { actions: 'serve', description: 'A permit ran out: its holder is gone.' },
          ],
        },
      },
      pacing: {
        description: 'Somebody waits for a token, a free place or the delay between requests.',
        tags: ['checkpoint'],
        always: [
          {
            guard: 'nothingIsUnderWay',
            target: 'idle',
            description: 'Nobody waits any more and nothing is under way.',
          },
          {
            guard: 'nobodyWaits',
            target: 'flowing',
            description: 'Everybody who waited has been let through.',
          },
        ],
        on: {
          ACQUIRE: [again, full, { actions: 'admit', description: 'Another one waits.' }],
          FEEDBACK: [
            {
              guard: 'isDirected',
              target: 'cooling',
              actions: 'learn',
              description: 'The server says when to come back.',
            },
            { actions: 'learn', description: 'The answer moves the rate and may free a place.' },
          ],
          RELEASED: { actions: 'serve', description: 'A place is free for the next one.' },
          ABANDONED: { actions: 'serve', description: 'One who waited or held a permit is gone.' },
          DUE: { actions: 'serve', description: 'A token has come, or a wait or permit ran out.' },
        },
      },
      cooling: {
        description: 'The server has said when to come back; nothing is granted before that.',
        tags: ['checkpoint', 'urgent'],
        always: {
          guard: 'hasCooled',
          target: 'pacing',
          description: 'The time given has come.',
        },
        on: {
          ACQUIRE: [again, full, { actions: 'admit', description: 'It waits for the time given.' }],
          FEEDBACK: { actions: 'learn', description: 'The longest Retry-After counts.' },
          RELEASED: { actions: 'serve', description: 'A request has ended.' },
          ABANDONED: { actions: 'serve', description: 'One who waited or held a permit is gone.' },
          DUE: { actions: 'serve', description: 'A wait or a permit ran out meanwhile.' },
          RESET: {
            target: 'pacing',
            actions: 'forget',
            description: 'An operator overrules the server.',
          },
        },
      },
      paused: {
        description: 'An operator has stopped the domain; nothing is granted.',
        tags: ['checkpoint'],
        on: {
          ACQUIRE: [again, full, { actions: 'queue', description: 'It waits for the operator.' }],
          FEEDBACK: { actions: 'learnOnly', description: 'Answers still teach.' },
          RELEASED: { actions: 'tidy', description: 'A request has ended.' },
          ABANDONED: { actions: 'tidy', description: 'One who waited or held a permit is gone.' },
          DUE: { actions: 'tidy', description: 'A wait or a permit ran out.' },
          PAUSED: { description: 'Paused already.' },
          CONTINUED: [
            {
              guard: 'isStillCooling',
              target: 'cooling',
              actions: 'serve',
              description: 'The server’s own time has not come yet.',
            },
            { target: 'pacing', actions: 'serve', description: 'The operator lets it go on.' },
          ],
          RESUMED: {
            actions: 'restartPaused',
            description: 'Back from a snapshot, and still paused.',
          },
          RECOVERED: {
            actions: 'slowStartPaused',
            description: 'The breaker has closed; the operator has not let go.',
          },
          RESET: { actions: 'forgetPaused', description: 'Forget what was learned.' },
        },
      },
    },
    options: { maxIterations: 100 },
  })
}

function requestOf(event: LimiterEvent): Request {
  if (event.type !== 'ACQUIRE') throw new Error(`${event.type} asks for nothing.`)
  return event
}

function feedbackOf(event: LimiterEvent): Feedback {
  if (event.type !== 'FEEDBACK') throw new Error(`${event.type} teaches nothing.`)
  return event
}

/** Without the permit or the place in the queue that this event ends. */
function withReturned(context: LimiterContext, event: LimiterEvent): LimiterContext {
  const id = endedBy(event)
  return id === undefined ? context : withdrawn(context, id)
}

function endedBy(event: LimiterEvent): string | undefined {
  switch (event.type) {
    case 'RELEASED':
    case 'ABANDONED':
      return event.id
    case 'FEEDBACK':
      return event.ends ? event.id : undefined
    default:
      return undefined
  }
}

function endsAllPermits({ permits }: LimiterContext, event: LimiterEvent): boolean {
  const ended = endedBy(event)
  return permits.every(({ id, until }) => id === ended || until <= event.at)
}

function grantsOf({ permits }: LimiterContext, wanted: string): LimiterCommand[] {
  return permits
    .filter(({ id }) => id === wanted)
    .map(({ id, until }) => ({ type: 'grant', id, until, waitedMs: 0 }))
}
