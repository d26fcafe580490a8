import { describe, expect, it } from 'vitest'
import type { JobError, Outcome } from '../../src/machines/decision.ts'
import { type HandlerJobCommand, handlerJobMachine } from '../../src/machines/handler-job.ts'
import {
  type JobCommand,
  type JobContext,
  type JobInput,
  type JobMessage,
  type JobPolicy,
  jobMachine,
} from '../../src/machines/job.ts'
import { jobProofPolicy, jobSpec } from '../../src/proof/job-spec.ts'
import { prove } from '../../src/proof/prove.ts'
import { HostedMachine, type HostedOptions, START_AT } from './hosted-machine.ts'
import {
  type StagedCommand,
  type StagedMessage,
  stagedAnswers,
  stagedJobMachine,
} from './staged-job.ts'

const policy: JobPolicy = {
  backoff: { kind: 'schedule', delaysMs: [1_000, 4_000] },
  pauseMsMax: 5_000,
  attemptMsMax: 60_000,
}
const input: JobInput = { jobId: 'j', attempt: 1, attemptsMax: 3, fence: 1 }
const error: JobError = { code: 'BROKEN', message: 'It broke.' }
const retry: Outcome = { kind: 'retry', error }

type HandlerJob = HostedMachine<JobMessage, JobCommand | HandlerJobCommand, JobContext>
type StagedJob = HostedMachine<JobMessage | StagedMessage, JobCommand | StagedCommand, JobContext>

function handlerJob(
  part: Partial<JobInput> = {},
  options: HostedOptions<JobCommand | HandlerJobCommand> = {},
): HandlerJob {
  return new HostedMachine(handlerJobMachine(policy), { input: { ...input, ...part }, ...options })
}

function stagedJob(part: Partial<JobInput> = {}): StagedJob {
  return new HostedMachine(stagedJobMachine(policy), { input: { ...input, ...part } })
}

const concluded = (outcome: Outcome): JobMessage => ({ type: 'CONCLUDED', outcome })
/** The next claim of the same job: a newer fence, and one more attempt counted. */
const claim = (times = 1) => ({
  input: { ...input, attempt: 1 + times, fence: 1 + times },
  fence: 1 + times,
})
const types = (commands: readonly { readonly type: string }[]) => commands.map(({ type }) => type)

/** One job in each of the states it can be found in, with the last command still unanswered. */
const found = {
  working: () => handlerJob(),
  backingOff: () => handlerJob().send(concluded(retry)),
  counting: () => handlerJob().send(concluded(retry)).advance(1_000),
  settling: () => handlerJob().send(concluded({ kind: 'done', result: 7 })),
}

describe('an outcome leads to its end', () => {
  it.each<[Outcome, object, string]>([
    [{ kind: 'done', result: 7 }, { kind: 'done', result: 7 }, 'done'],
    [{ kind: 'skipped', reason: 'gone' }, { kind: 'skipped', reason: 'gone' }, 'skipped'],
    [{ kind: 'reject', error }, { kind: 'failed', error }, 'failed'],
    [{ kind: 'cancelled' }, { kind: 'cancelled' }, 'cancelled'],
  ])('%o', (outcome, decision, end) => {
    const job = handlerJob()
    expect(job.take()).toEqual([{ type: 'run', jobId: 'j', attempt: 1, checkpoint: null }])
    expect(job.send(concluded(outcome)).take()).toEqual([{ type: 'settle', decision, fence: 1 }])
    expect(job.state).toBe('settling')
    expect(job.send({ type: 'SETTLED' }).state).toBe(end)
    expect(job.isHere).toBe(false)
  })

  it('the last attempt that fails is the end', () => {
    const job = handlerJob({ attempt: 3 }).send(concluded(retry))
    expect(job.take().at(-1)).toMatchObject({ decision: { kind: 'dead', error } })
    expect(job.send({ type: 'SETTLED' }).state).toBe('dead')
  })

  it('a decision, once made, is committed and never changed', () => {
    const job = found.settling()
    job.take()
    job.send({ type: 'CANCELLED' }).send({ type: 'DRAINED' }).send(concluded(retry))
    expect(job.take()).toEqual([])
    expect(job.send({ type: 'SETTLED' }).state).toBe('done')
  })
})

describe('trying again', () => {
  it('a short pause is waited out here, and the store counts before the attempt begins', () => {
    const job = handlerJob().send(concluded(retry))
    job.take()
    expect(job.state).toBe('backingOff')
    expect(job.advance(999).take()).toEqual([])
    expect(job.advance(1).take()).toEqual([{ type: 'countAttempt', attempt: 2, fence: 1 }])
    expect(job.send({ type: 'COUNTED', attempt: 2 }).take()).toEqual([
      { type: 'run', jobId: 'j', attempt: 2, checkpoint: null },
    ])
  })

  it('a longer one is waited out in the queue', () => {
    const job = handlerJob().send(concluded({ ...retry, afterMs: 5_001 }))
    expect(job.take().at(-1)).toMatchObject({
      ...{ type: 'settle', decision: { kind: 'requeue', runAt: START_AT + 5_001, error } },
    })
    expect(job.send({ type: 'SETTLED' }).save().isHere).toBe(false)
  })

  it('a wait the server asked for counts when it is longer than ours, and only then', () => {
    const pauseOf = (afterMs: number) =>
      handlerJob().send(concluded({ ...retry, afterMs })).context.dueAt! - START_AT
    expect(pauseOf(500)).toBe(1_000)
    expect(pauseOf(3_000)).toBe(3_000)
  })

  it('being told to wait costs no attempt', () => {
    const wait = { kind: 'wait', until: START_AT + 2_000, reason: 'busy' } as const
    const job = handlerJob({ attempt: 3 }).send(concluded(wait))
    job.take()
    expect(job.advance(1_999).take()).toEqual([])
    expect(job.advance(1).take()).toMatchObject([{ type: 'run', attempt: 3 }])
  })

  it('being told to wait for long parks it in the queue', () => {
    const wait = { kind: 'wait', until: START_AT + 86_400_000, reason: 'busy' } as const
    const job = handlerJob({ attempt: 3 }).send(concluded(wait))
    const decision = { kind: 'park', runAt: START_AT + 86_400_000, reason: 'busy' }
    expect(job.take().at(-1)).toEqual({ type: 'settle', decision, fence: 1 })
  })

  it('an attempt that takes too long is called off and counts as failed', () => {
    const job = handlerJob()
    job.take()
    expect(job.advance(59_999).take()).toEqual([])
    expect(job.advance(1).take()).toEqual([{ type: 'abort', reason: 'timedOut' }])
    expect(job.state).toBe('backingOff')
    const last = handlerJob({ attempt: 3 }).advance(60_000)
    expect(types(last.take())).toEqual(['run', 'abort', 'settle'])
    expect(last.context.decision).toMatchObject({ error: { code: 'ATTEMPT_TIMED_OUT' } })
  })

  it('each attempt has its own time', () => {
    const job = handlerJob().advance(50_000).send(concluded(retry)).advance(1_000)
    job.send({ type: 'COUNTED', attempt: 2 }).advance(59_999)
    expect(job.state).toBe('working.running')
  })
})

describe('called off', () => {
  it.each([
    ['working', ['abort', 'settle']],
    ['backingOff', ['settle']],
    ['counting', ['settle']],
  ] as const)('while %s', (state, commands) => {
    const job = found[state]()
    job.take()
    const asked = job.send({ type: 'CANCELLED' }).take()
    expect(types(asked)).toEqual(commands)
    expect(asked.at(-1)).toMatchObject({ decision: { kind: 'cancelled' } })
    expect(job.send({ type: 'SETTLED' }).state).toBe('cancelled')
  })
})

describe('when another node has taken it', () => {
  it.each([
    ['working', [{ type: 'abort', reason: 'leaseLost' }]],
    ['backingOff', []],
    ['counting', []],
    ['settling', []],
  ] as const)('%s ends, and nothing more is written', (state, commands) => {
    const job = found[state]()
    job.take()
    expect(job.send({ type: 'LEASE_LOST' }).take()).toEqual(commands)
    expect(job.state).toBe('lost')
  })
})

describe('when the process stops', () => {
  const drained = (state: keyof typeof found) => {
    const job = found[state]()
    job.take()
    return job.send({ type: 'DRAINED' })
  }

  it('running work is called off and handed back at no cost', () => {
    const job = drained('working')
    expect(job.take()).toMatchObject([
      { type: 'abort', reason: 'drained' },
      { type: 'settle', decision: { kind: 'park', runAt: START_AT } },
    ])
    expect(job.send({ type: 'SETTLED' }).save().isHere).toBe(false)
  })

  it('a pause goes on in the queue', () => {
    expect(drained('backingOff').take()).toMatchObject([
      { decision: { kind: 'requeue', runAt: START_AT + 1_000 } },
    ])
  })

  it('an attempt that failed stays counted, though the next was about to begin', () => {
    expect(drained('counting').take()).toMatchObject([{ decision: { kind: 'requeue' } }])
  })

  it('a decision is still committed', () => {
    expect(drained('settling').send({ type: 'SETTLED' }).state).toBe('done')
  })
})

describe('after the process was killed and the job claimed again', () => {
  const revived = (state: keyof typeof found) => {
    const job = found[state]().save()
    job.take()
    return job.crash(claim())
  }

  it('work that ran is asked for once more, as the attempt the claim has counted', () => {
    const job = revived('working')
    expect(job.take()).toMatchObject([{ type: 'run', attempt: 2 }])
    expect(job.context).toMatchObject({ fence: 2, dueAt: job.now + 60_000 })
  })

  it('a pause is waited out and costs no second count', () => {
    const job = revived('backingOff')
    expect(job.take()).toEqual([])
    expect(job.advance(1_000).take()).toMatchObject([{ type: 'run', attempt: 2 }])
  })

  it('a count that was asked for is not needed any more', () => {
    expect(revived('counting').take()).toMatchObject([{ type: 'run', attempt: 2 }])
  })

  it('a decision is committed under the new fence', () => {
    const decision = { kind: 'done', result: 7 }
    expect(revived('settling').take()).toEqual([{ type: 'settle', decision, fence: 2 }])
  })

  const sentBack = () => {
    const job = handlerJob()
      .send(concluded({ ...retry, afterMs: 3_600_000 }))
      .save()
    job.take()
    return job
  }

  it('a job that had gone back to the queue works, and does not go back once more', () => {
    const job = sentBack().crash({ ...claim(), downMs: 3_600_000 })
    expect(job.take()).toMatchObject([{ type: 'run', attempt: 2 }])
  })

  it('a job whose time has not come goes back for the rest of it, and no attempt is lost', () => {
    const job = sentBack().crash({ ...claim(), downMs: 60_000 })
    expect(job.take()).toMatchObject([
      { type: 'settle', decision: { kind: 'park', runAt: START_AT + 3_600_000 }, fence: 2 },
    ])
  })
})

describe('after the actor alone crashed, under the same lease', () => {
  /** Performing the named command fails once; the supervisor restarts the actor. */
  const stumbling = (type: string, before: (job: HandlerJob) => HandlerJob) => {
    let isToFail = true
    const job = handlerJob(
      {},
      {
        perform: (command) => {
          if (command.type !== type || !isToFail) return
          isToFail = false
          throw new Error('not now')
        },
      },
    )
    before(job).advance(0)
    expect(job.crashes).toHaveLength(1)
    return job
  }

  it('exactly the command that was not performed is asked for again', () => {
    const running = stumbling('run', (job) => job)
    expect(types(running.take())).toEqual(['run', 'run'])
    const settling = stumbling('settle', (job) => job.send(concluded({ kind: 'done', result: 7 })))
    expect(types(settling.take())).toEqual(['run', 'settle', 'settle'])
  })

  it('the next attempt still has to be counted', () => {
    const job = stumbling('countAttempt', (each) => each.send(concluded(retry)).advance(1_000))
    expect(types(job.take())).toEqual(['run', 'countAttempt', 'countAttempt'])
    expect(job.state).toBe('counting')
  })

  it('a pause after a failure still ends in a count', () => {
    const job = stumbling('abort', (each) => each.advance(60_000))
    expect(job.state).toBe('backingOff')
    expect(job.advance(1_000).state).toBe('counting')
  })

  it('attempts counted since the claim are not forgotten', () => {
    const job = handlerJob().send(concluded(retry)).advance(1_000)
    job.send({ type: 'COUNTED', attempt: 2 }).save().crash({ input, fence: 1 })
    expect(job.context.attempt).toBe(2)
  })
})

describe('a job with steps', () => {
  /** In the second part of its second step. */
  const reading = () =>
    stagedJob().send({ type: 'LOADED', item: 'i' }).send({ type: 'CONNECTED', address: 'a' })
  const fetchAgain = { type: 'fetch', address: 'a' }

  it('asks for each step in turn, and its last answer is the result', () => {
    const job = reading()
      .send({ type: 'FETCHED', body: 'b' })
      .send({ type: 'SAVED', reference: 'r' })
    expect(job.take()).toEqual([
      { type: 'load', jobId: 'j' },
      { type: 'connect', item: 'i' },
      { type: 'fetch', address: 'a' },
      { type: 'save', body: 'b' },
      { type: 'settle', decision: { kind: 'done', result: 'r' }, fence: 1 },
    ])
  })

  it('goes on from the step that failed, not from the first', () => {
    const job = reading()
    job.take()
    job.send(concluded(retry)).advance(1_000).send({ type: 'COUNTED', attempt: 2 })
    expect(job.take()).toEqual([{ type: 'countAttempt', attempt: 2, fence: 1 }, fetchAgain])
    expect(job.state).toBe('working.fetching.reading')
  })

  it('released from its second step, the next claim goes on there', () => {
    const job = reading().send(concluded({ ...retry, afterMs: 3_600_000 }))
    job.send({ type: 'SETTLED' }).save()
    expect(job.isHere).toBe(false)
    job.take()
    job.advance(3_600_000).restart(claim())
    expect(job.take()).toEqual([fetchAgain])
    expect(job.context).toMatchObject({ attempt: 2, fence: 2, decision: null })
    expect(job.context.work).toEqual({ source: 'j', item: 'i', address: 'a' })
  })

  it('killed in its second step, the next claim asks for exactly that', () => {
    const job = reading().save()
    job.take()
    expect(job.crash(claim()).take()).toEqual([fetchAgain])
  })

  it('killed in its third step before anything else was written, it repeats neither of the others', () => {
    const job = new HostedMachine<StagedMessage, StagedCommand, JobContext>(
      stagedJobMachine(policy),
      { input, isWriteAhead: true, snapshotDelayMs: 3_600_000 },
    )
    job.send({ type: 'LOADED', item: 'i' }).send({ type: 'CONNECTED', address: 'a' })
    expect(types(job.take())).toEqual(['load', 'connect', 'fetch'])
    expect(job.crash(claim()).take()).toEqual([fetchAgain])
  })

  it.each([
    ['the pause', 0],
    ['the count', 1_000],
  ])('killed during %s after its second step, it goes on there too', (_, ms) => {
    const job = reading().send(concluded(retry)).advance(ms).save()
    job.take()
    expect(job.crash(claim()).advance(1_000).take()).toEqual([fetchAgain])
  })

  it('is proved: every step reached and left, every path replayed with a crash after each', () => {
    const { figures, problems } = prove(jobSpec(stagedJobMachine(jobProofPolicy), stagedAnswers))
    expect(problems).toEqual([])
    expect(figures.transitionsTaken).toBe(figures.transitions)
    expect(figures.crashReplays).toBeGreaterThan(figures.configurations)
  })

  it('may not have a dot in its name, for then it could not find its step again', () => {
    const dotted = () =>
      jobMachine({
        ...{ id: 'job.dotted', version: '1', description: '', policy },
        work: () => ({ initial: 'only', states: { only: { type: 'final' } } }),
      })
    expect(dotted).toThrow("'job.dotted' needs an id without dots")
  })
})

describe('checkpoints and progress', () => {
  const half = { done: 5, total: 10, note: 'half' }

  it('what was last kept is handed back after a crash, and after a claim elsewhere', () => {
    const job = handlerJob()
    job.send({ type: 'CHECKPOINTED', checkpoint: { page: 5 } })
    job.send({ type: 'PROGRESSED', progress: half }).save()
    job.take()
    expect(job.crash(claim()).take()).toMatchObject([{ type: 'run', checkpoint: { page: 5 } }])
    expect(job.context.progress).toEqual(half)
    job.send({ type: 'DRAINED' }).send({ type: 'SETTLED' }).save()
    job.take()
    expect(job.restart(claim(2)).take()).toMatchObject([{ type: 'run', checkpoint: { page: 5 } }])
  })

  it('a retry is handed it too', () => {
    const job = handlerJob().send({ type: 'CHECKPOINTED', checkpoint: 5 }).send(concluded(retry))
    job.advance(1_000).send({ type: 'COUNTED', attempt: 2 })
    expect(job.take().at(-1)).toMatchObject({ type: 'run', attempt: 2, checkpoint: 5 })
  })
})
