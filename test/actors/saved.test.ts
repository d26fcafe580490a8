import { describe, expect, it } from 'vitest'
import { DeferredSnapshots } from './fixtures/deferred-snapshots.ts'
import { RecordingSnapshots } from './fixtures/recording-snapshots.ts'
import { type StageOptions, stage, storedDiary, upTo, wrote } from './fixtures/stage.ts'

function recordedStage(options: StageOptions<RecordingSnapshots> = {}) {
  return stage({ snapshots: new RecordingSnapshots(), ...options })
}

async function slowStage() {
  const staged = stage({ snapshots: new DeferredSnapshots() })
  staged.diaries.start('ada', { input: { owner: 'Ada' }, fence: 1, isNew: true })
  staged.clock.settle()
  return { ...staged, write: (index: number) => staged.snapshots.writes[index]! }
}

describe('an actor is saved', () => {
  it('when what it made of the letters it had rests in the store, without waiting for the delay', async () => {
    const { clock, send, diaries, snapshots } = recordedStage()
    send('ada', wrote(1))
    send('ada', wrote(2))
    const saved = diaries.saved('ada')
    clock.settle()
    expect(await saved).toBe(true)
    expect(snapshots.text('ada')).toContain('[1,2]')
  })

  it('at once, and without another write, when nothing has changed', async () => {
    const { tell, save, diaries, snapshots } = recordedStage()
    tell('ada', wrote(1))
    save()
    expect(await diaries.saved('ada')).toBe(true)
    expect(snapshots.groups).toHaveLength(1)
  })

  it('with all others who asked in the same turn, in one write', async () => {
    const { clock, send, diaries, snapshots } = recordedStage()
    const keys = upTo(100).map((index) => `diary-${index}`)
    for (const key of keys) send(key, wrote(1))
    const all = Promise.all(keys.map((key) => diaries.saved(key)))
    clock.settle()
    expect(new Set(await all)).toEqual(new Set([true]))
    expect(snapshots.groups).toHaveLength(1)
  })

  it('by the write that has its newest state, not by one that was already under way', async () => {
    const { clock, tell, diaries, write } = await slowStage()
    const answers: boolean[] = []
    const ask = () => void diaries.saved('ada').then((isSaved) => answers.push(isSaved))
    ask()
    clock.settle()
    tell('ada', wrote(1))
    ask()
    clock.settle()
    await write(0).answer()
    expect(answers).toEqual([true])
    await write(1).answer()
    expect(answers).toEqual([true, true])
  })

  it('also when the host stops meanwhile', async () => {
    const { host, send, diaries, snapshots } = recordedStage()
    send('ada', wrote(1))
    const saved = diaries.saved('ada')
    await host.stop()
    expect(await saved).toBe(true)
    expect(snapshots.text('ada')).toContain('[1]')
  })
})

describe('an actor is not saved', () => {
  it('when the store is away; the write is tried again later all the same', async () => {
    const { clock, tell, save, diaries, snapshots } = recordedStage()
    tell('ada', wrote(1))
    snapshots.isBroken = true
    const saved = diaries.saved('ada')
    clock.settle()
    expect(await saved).toBe(false)
    snapshots.isBroken = false
    save()
    expect(snapshots.text('ada')).toContain('[1]')
  })

  it('when somebody else has taken over', async () => {
    const { clock, diaries, snapshots, write } = await slowStage()
    const saved = diaries.saved('ada')
    clock.settle()
    snapshots.kept.write([storedDiary('ada', { fence: 2 })])
    await write(0).answer()
    expect(await saved).toBe(false)
  })

  it('when it is not here, or keeps nothing', async () => {
    expect(await stage().diaries.saved('nobody')).toBe(false)
    const fleeting = stage({ kind: { isDurable: false } })
    fleeting.tell('ada', wrote(1))
    expect(await fleeting.diaries.saved('ada')).toBe(false)
  })

  it('when it has never been in a state worth keeping', async () => {
    const { clock, send, diaries } = recordedStage({ kind: { input: () => ({ owner: 'Ada' }) } })
    diaries.start('ada', { input: { owner: 'Ada' }, isNew: true })
    send('ada', { type: 'BURNT' })
    const saved = diaries.saved('ada')
    clock.settle()
    expect(await saved).toBe(false)
  })

  it('when it crashes on a letter it had', async () => {
    const { clock, send, diaries } = recordedStage()
    send('ada', { type: 'ASSIGN_THROWS' })
    const saved = diaries.saved('ada')
    clock.settle()
    expect(await saved).toBe(false)
  })

  it('while it is quarantined', async () => {
    const { tell, host, diaries } = recordedStage({
      supervision: { crashesMax: 0, periodMs: 1_000, delayMs: 1, delayMsMax: 1 },
    })
    tell('ada', { type: 'ASSIGN_THROWS' })
    expect(host.quarantined()).toHaveLength(1)
    expect(await diaries.saved('ada')).toBe(false)
  })

  it('when the process is killed, before its letters or before the answer', async () => {
    const { host, clock, send, tell, diaries } = await slowStage()
    tell('ada', wrote(1))
    const unanswered = diaries.saved('ada')
    clock.settle()
    send('ada', wrote(2))
    const unheard = diaries.saved('ada')
    host.halt()
    expect(await Promise.all([unanswered, unheard, diaries.saved('ada')])).toEqual([
      false,
      false,
      false,
    ])
  })
})
