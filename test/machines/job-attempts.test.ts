/**
 * Attempts never exceed their maximum, and none begins that the queue has not counted: whatever the
 * handler comes to, wherever the process is killed, the actor crashes, or an answer gets lost.
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Decision, Outcome } from '../../src/machines/decision.ts'
import { type HandlerJobCommand, handlerJobMachine } from '../../src/machines/handler-job.ts'
import type { JobCommand, JobContext, JobInput, JobMessage } from '../../src/machines/job.ts'
import { HostedMachine } from './hosted-machine.ts'

type Asked = JobCommand | HandlerJobCommand

/** The row of one job, changed only as the queue's statements would. */
class Row {
  readonly attemptsMax: number
  attempts = 0
  fence = 0
  state: 'queued' | 'leased' | 'ended' = 'queued'
  runAt = 0
  /** Attempts that came to nothing and cost something: failures, time-outs, killed processes. */
  spent = 0

  constructor(attemptsMax: number) {
    this.attemptsMax = attemptsMax
  }

  claim(): JobInput | undefined {
    if (this.attempts >= this.attemptsMax) {
      this.state = 'ended'
      return undefined
    }
    this.attempts += 1
    this.fence += 1
    this.state = 'leased'
    return { jobId: 'j', attempt: this.attempts, attemptsMax: this.attemptsMax, fence: this.fence }
  }

  count(attempt: number, fence: number): JobMessage {
    expect(fence).toBe(this.fence)
    expect([this.attempts, this.attempts + 1]).toContain(attempt)
    this.attempts = attempt
    return { type: 'COUNTED', attempt }
  }

  settle(decision: Decision, fence: number): JobMessage {
    expect(fence).toBe(this.fence)
    if (this.state === 'leased') {
      const isBack = decision.kind === 'requeue' || decision.kind === 'park'
      this.state = isBack ? 'queued' : 'ended'
      if (isBack) this.runAt = decision.runAt
      if (decision.kind === 'park') this.attempts -= 1
    }
    return { type: 'SETTLED' }
  }
}

type Happening =
  | { readonly what: 'conclude'; readonly outcome: 'done' | 'retry' | 'later' | 'wait' | 'park' }
  | { readonly what: 'answer' | 'stumble' | 'drain' }
  | { readonly what: 'kill'; readonly isApplied: boolean }
  | { readonly what: 'pass'; readonly ms: number }

const happenings: fc.Arbitrary<Happening[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.constant({ what: 'answer' as const }) },
    {
      weight: 6,
      arbitrary: fc.record({
        what: fc.constant('conclude' as const),
        outcome: fc.constantFrom('retry', 'retry', 'retry', 'later', 'wait', 'park', 'done'),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        what: fc.constant('pass' as const),
        ms: fc.constantFrom(0, 500, 1_000, 20_000),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ what: fc.constant('kill' as const), isApplied: fc.boolean() }),
    },
    { weight: 1, arbitrary: fc.constant({ what: 'stumble' as const }) },
    { weight: 1, arbitrary: fc.constant({ what: 'drain' as const }) },
  ),
  { maxLength: 60 },
)

const machine = handlerJobMachine({
  backoff: { kind: 'schedule', delaysMs: [1_000] },
  pauseMsMax: 5_000,
  attemptMsMax: 20_000,
})

/** One job on one node, with its queue on the other side. */
class Run {
  readonly row: Row
  readonly job: HostedMachine<JobMessage, Asked, JobContext>
  /** Commands to the queue that were asked for and not yet carried out. */
  #pending: (() => JobMessage)[] = []
  #isRunning = false
  #isToStumble = false
  #stumbles = 0

  constructor(attemptsMax: number) {
    this.row = new Row(attemptsMax)
    this.job = new HostedMachine(machine, {
      input: this.row.claim()!,
      perform: (command) => this.#perform(command),
    })
  }

  happen(event: Happening): void {
    this.job.save()
    if (!this.job.isHere) this.#claimAgain()
    else if (event.what === 'conclude') this.#conclude(outcomes[event.outcome](this.job.now))
    else if (event.what === 'answer') this.#answer()
    else if (event.what === 'kill') this.#kill(event.isApplied)
    else if (event.what === 'pass') this.job.advance(event.ms)
    else if (event.what === 'drain') this.job.send({ type: 'DRAINED' })
    // A handful in a minute would be quarantine, which is another test's claim.
    else if (this.#stumbles++ < 3) this.#isToStumble = true
  }

  #perform(command: Asked): void {
    if (this.#isToStumble) {
      this.#isToStumble = false
      throw new Error('stumbled')
    }
    const { row } = this
    switch (command.type) {
      case 'run':
        this.#isRunning = true
        expect(command.attempt).toBe(row.attempts)
        expect(command.attempt).toBeLessThanOrEqual(row.attemptsMax)
        break
      case 'countAttempt':
        this.#pending.push(() => row.count(command.attempt, command.fence))
        break
      case 'settle':
        this.#pending.push(() => row.settle(command.decision, command.fence))
        break
      case 'abort':
        if (command.reason === 'timedOut') row.spent += 1
        this.#isRunning = false
        break
      default:
        command satisfies never
    }
  }

  #conclude(outcome: Outcome): void {
    if (!this.#isRunning) return
    this.#isRunning = false
    // A handler that was never told to stop may speak up after its work was handed back.
    const isHeard = this.job.state.startsWith('working')
    if (isHeard && outcome.kind === 'retry') this.row.spent += 1
    this.job.send({ type: 'CONCLUDED', outcome })
  }

  #answer(): void {
    const carryOut = this.#pending.shift()
    if (carryOut) this.job.send(carryOut())
  }

  #kill(isApplied: boolean): void {
    if (isApplied) for (const carryOut of this.#pending) carryOut()
    if (this.#isRunning) this.row.spent += 1
    this.#isRunning = false
    this.#pending = []
    if (this.row.state === 'ended') return
    const input = this.row.claim()
    if (input) this.job.crash({ downMs: 30_000, input, fence: input.fence })
  }

  #claimAgain(): void {
    if (this.row.state !== 'queued') return
    const input = this.row.claim()
    if (!input) return
    this.job.clock.advanceTo(Math.max(this.row.runAt, this.job.now))
    this.job.restart({ input, fence: input.fence })
  }
}

const error = { code: 'X', message: 'x' }
const outcomes: {
  readonly [Name in 'done' | 'retry' | 'later' | 'wait' | 'park']: (now: number) => Outcome
} = {
  done: () => ({ kind: 'done', result: 1 }),
  retry: () => ({ kind: 'retry', error }),
  later: () => ({ kind: 'retry', error, afterMs: 3_600_000 }),
  wait: (now) => ({ kind: 'wait', until: now + 900, reason: 'busy' }),
  park: (now) => ({ kind: 'wait', until: now + 3_600_000, reason: 'busy' }),
}

it('no attempt begins uncounted, and no more are spent than there are', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), happenings, (attemptsMax, sequence) => {
      const run = new Run(attemptsMax)
      for (const event of sequence) {
        if (run.row.state === 'ended') break
        run.happen(event)
        expect(run.job.crashes.filter((each) => !String(each).includes('stumbled'))).toEqual([])
        expect(run.row.attempts).toBeLessThanOrEqual(attemptsMax)
        expect(run.row.spent).toBeLessThanOrEqual(attemptsMax)
      }
    }),
    { numRuns: 1_000 },
  )
})
