/**
 * A kind that writes ahead: no crash falls back behind a state whose command was performed, and
 * nothing that was asked for gets lost, doubled or out of order on the way.
 */
import { describe, expect, it } from 'vitest'
import { ActorHost } from '../../src/actors/host.ts'
import type { SnapshotStore } from '../../src/actors/ports.ts'
import { type Machine, statechartOf } from '../../src/actors/statechart.ts'
import { VirtualClock } from '../../src/actors/virtual-clock.ts'
import { type HandlerJobCommand, handlerJobMachine } from '../../src/machines/handler-job.ts'
import type { JobCommand, JobMessage } from '../../src/machines/job.ts'
import { jobProofPolicy } from '../../src/proof/job-spec.ts'
import { type StagedCommand, type StagedMessage, stagedJobMachine } from '../machines/staged-job.ts'
import { DeferredSnapshots } from './fixtures/deferred-snapshots.ts'
import { RecordingSnapshots } from './fixtures/recording-snapshots.ts'
import { START_AT, type StageOptions, stage, storedDiary, upTo, wrote } from './fixtures/stage.ts'

const ahead = { isWriteAhead: true } as const

function aheadStage<S extends SnapshotStore>(options: StageOptions<S> & { snapshots: S }) {
  const staged = stage({ ...options, kind: { ...ahead, ...options.kind } })
  return {
    ...staged,
    begin: (key: string, fence = 0) => {
      staged.diaries.start(key, { input: { owner: key }, fence, isNew: true })
      staged.clock.settle()
    },
    asked: () => staged.performed.map(({ command }) => command.type),
  }
}

/** A diary on a store that answers when the test says so, its beginning already safe. */
async function slowStage(options: Partial<StageOptions<DeferredSnapshots>> = {}) {
  const staged = aheadStage({ snapshots: new DeferredSnapshots(), ...options })
  staged.begin('ada', 1)
  staged.save()
  await staged.snapshots.writes[0]!.answer()
  return { ...staged, write: (index: number) => staged.snapshots.writes[index]! }
}

type Message = JobMessage | StagedMessage
type Asked = JobCommand | StagedCommand | HandlerJobCommand

/** A job that writes ahead, on a store that answers when the test says so. */
function slowJob(machine: Machine) {
  const clock = new VirtualClock(START_AT)
  const snapshots = new DeferredSnapshots()
  const host = new ActorHost({ clock, chance: () => 0, snapshots })
  const chart = statechartOf(machine)
  const asked: Asked['type'][] = []
  const jobs = host.register<Message, Asked>({
    ...{ name: 'job', chart: () => chart, isDurable: true, ...ahead },
    perform: ({ type }) => {
      asked.push(type)
    },
  })
  jobs.start('j', { input: { jobId: 'j', attempt: 1, attemptsMax: 2, fence: 1 }, isNew: true })
  clock.settle()
  return {
    ...{ asked, snapshots, jobs },
    tell: (event: Message) => {
      jobs.send('j', event)
      clock.settle()
    },
  }
}

describe('a command waits for its state', () => {
  it('until the store has it', async () => {
    const { tell, asked, write } = await slowStage()
    tell('ada', { type: 'ASKED' })
    expect(asked()).toEqual([])
    await write(1).answer()
    expect(asked()).toEqual(['noteQuestion', 'ask'])
  })

  it('and not for the delay of other writes: no time has to pass', () => {
    const { tell, begin, asked, snapshots } = aheadStage({ snapshots: new RecordingSnapshots() })
    begin('ada')
    tell('ada', { type: 'ASKED' })
    expect(asked()).toEqual(['noteQuestion', 'ask'])
    expect(snapshots.text('ada')).toContain('asking')
  })

  it('a thousand that step in one turn are one write', () => {
    const staged = aheadStage({ snapshots: new RecordingSnapshots() })
    const keys = upTo(1_000).map((index) => `diary-${index}`)
    for (const key of keys) staged.begin(key)
    staged.save()
    const groupsBefore = staged.snapshots.groups.length
    for (const key of keys) staged.send(key, { type: 'ASKED' })
    staged.clock.settle()
    expect(staged.asked()).toHaveLength(2_000)
    expect(staged.snapshots.groups.slice(groupsBefore).map((group) => group.length)).toEqual([
      1_000,
    ])
  })

  it('what comes while a write is under way waits for the next one', async () => {
    const { tell, asked, write } = await slowStage()
    tell('ada', wrote(1), { type: 'ASKED' })
    tell('ada', { type: 'ANSWERED' }, { type: 'ASKED' })
    await write(1).answer()
    expect(asked()).toEqual(['noteQuestion', 'ask'])
    await write(2).answer()
    expect(asked()).toEqual(['noteQuestion', 'ask', 'noteQuestion', 'ask'])
  })

  it('but not at its beginning, when there is nothing to fall back behind', () => {
    const { asked, snapshots } = slowJob(stagedJobMachine(jobProofPolicy))
    expect(asked).toEqual(['load'])
    expect(snapshots.writes).toEqual([])
  })

  it('nor where asking twice does no harm: a decision is settled without a write', () => {
    const { asked, tell, snapshots } = slowJob(handlerJobMachine(jobProofPolicy))
    tell({ type: 'CONCLUDED', outcome: { kind: 'done', result: 1 } })
    expect(asked).toEqual(['run', 'settle'])
    tell({ type: 'SETTLED' })
    expect(snapshots.writes).toEqual([])
  })

  it('an actor that keeps nothing cannot write ahead', () => {
    expect(() => stage({ kind: { ...ahead, isDurable: false } })).toThrow(
      "Actors 'diary' write ahead but keep no snapshots: make them durable.",
    )
  })
})

describe('a store that is away', () => {
  it('stops nobody: what waited is performed when the write has failed', async () => {
    const { tell, asked, write } = await slowStage()
    tell('ada', { type: 'ASKED' })
    await write(1).fail()
    expect(asked()).toEqual(['noteQuestion', 'ask'])
  })

  it('nobody waits for it a second time, until it is back', async () => {
    const { clock, tell, save, asked, write } = await slowStage()
    tell('ada', { type: 'ASKED' })
    tell('ada', { type: 'ANSWERED' }, { type: 'ASKED' })
    await write(1).fail()
    expect(asked()).toHaveLength(4)
    tell('ada', { type: 'ANSWERED' }, { type: 'ASKED' })
    expect(asked()).toHaveLength(6)
    save()
    await write(2).answer()
    tell('ada', { type: 'ANSWERED' }, { type: 'ASKED' })
    clock.settle()
    expect(asked()).toHaveLength(6)
    await write(3).answer()
    expect(asked()).toHaveLength(8)
  })
})

describe('while a command waits', () => {
  const connecting = () => {
    const job = slowJob(stagedJobMachine(jobProofPolicy))
    job.tell({ type: 'LOADED', item: 'i' })
    expect(job.asked).toEqual(['load'])
    return job
  }

  it('a cancel waits behind it, and then all is asked in order', async () => {
    const { tell, asked, snapshots } = connecting()
    tell({ type: 'CANCELLED' })
    expect(asked).toEqual(['load'])
    await snapshots.writes[0]!.answer()
    expect(asked).toEqual(['load', 'connect', 'abort', 'settle'])
  })

  it('an end drops it, and asks only what belongs to the end', async () => {
    const { tell, asked, snapshots, jobs } = connecting()
    tell({ type: 'LEASE_LOST' })
    expect([asked, jobs.size]).toEqual([['load', 'abort'], 0])
    await snapshots.writes[0]!.answer()
    expect(asked).toEqual(['load', 'abort'])
  })

  it('a crash drops it, and resuming asks for it once', async () => {
    const { clock, tell, asked, write } = await slowStage()
    tell('ada', { type: 'ASKED' })
    tell('ada', { type: 'ASSIGN_THROWS' })
    clock.advance(0)
    await write(1).answer()
    expect(asked()).toEqual([])
    await write(2).answer()
    expect(asked()).toEqual(['noteQuestion', 'ask'])
  })

  it('a command that throws takes those behind it along, and resuming asks for all', async () => {
    let isToThrow = true
    const performed: string[] = []
    const { clock, tell, write } = await slowStage({
      kind: {
        perform: ({ type }) => {
          performed.push(type)
          if (isToThrow) throw new Error('not now')
        },
      },
    })
    tell('ada', { type: 'ASKED' })
    await write(1).answer()
    isToThrow = false
    clock.advance(0)
    await write(2).answer()
    expect(performed).toEqual(['noteQuestion', 'noteQuestion', 'ask'])
  })

  it('a killed process performs nothing any more', async () => {
    const { host, tell, asked, write } = await slowStage()
    tell('ada', { type: 'ASKED' })
    host.halt()
    await write(1).answer()
    expect(asked()).toEqual([])
  })

  it('one that has been overtaken only calls off its work', async () => {
    const { tell, asked, snapshots, write } = await slowStage({
      kind: { onFenced: { type: 'OVERTAKEN' } },
    })
    tell('ada', { type: 'ASKED' })
    snapshots.kept.write([storedDiary('ada', { fence: 2 })])
    await write(1).answer()
    expect(asked()).toEqual(['callOff'])
  })

  it('it is not put to sleep', async () => {
    const { clock, host, tell, asked, diaries, write } = await slowStage({ kind: { idleMs: 0 } })
    tell('ada', { type: 'ASKED' }, { type: 'ANSWERED' })
    host.evictIdle()
    expect(diaries.peek('ada')).toBeDefined()
    await write(1).answer()
    expect(asked()).toEqual(['noteQuestion', 'ask'])
    host.evictIdle()
    clock.settle()
    expect(diaries.peek('ada')).toBeUndefined()
  })

  it('a host that stops performs it first', async () => {
    const { host, tell, asked, write } = await slowStage()
    tell('ada', { type: 'ASKED' })
    const stopped = host.stop()
    await write(1).answer()
    await stopped
    expect(asked()).toEqual(['noteQuestion', 'ask'])
  })
})
