import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  SUPERVISION,
  type SupervisionPolicy,
  superviseCrash,
} from '../../src/actors/supervision.ts'
import type { DiaryMessage } from './fixtures/diary-machine.ts'
import { START_AT, stage, upTo, wrote } from './fixtures/stage.ts'

const patient: SupervisionPolicy = {
  crashesMax: 3,
  periodMs: 9_000,
  delayMs: 100,
  delayMsMax: 1_000,
}

const broken: DiaryMessage = { type: 'ASSIGN_THROWS' }

describe('a machine that throws', () => {
  it.each(['GUARD_THROWS', 'ASSIGN_THROWS'] as const)(
    'goes on from the state before the event it threw on (%s), which is a dead letter',
    (type) => {
      const { clock, host, send, pages, state, hear } = stage()
      const crashed = hear('actor.crashed')
      send('ada', wrote(1))
      send('ada', { type: 'OPENED' })
      send('ada', { type })
      send('ada', wrote(2))
      clock.advance(0)
      expect(pages('ada')).toEqual([1, 2])
      expect(state('ada')).toBe('open')
      expect(host.deadLetters.list()).toEqual([
        { kind: 'diary', key: 'ada', event: { type }, reason: 'crashed', at: START_AT },
      ])
      expect(crashed).toMatchObject([{ key: 'ada', cause: { type } }])
      expect(String(crashed[0]?.error)).toContain('is broken')
    },
  )

  it('leaves nothing behind of the step it threw in', () => {
    const { tell, state, performed, clock } = stage()
    tell('ada', { type: 'OPENED' }, broken)
    clock.advance(1_000)
    expect(state('ada')).toBe('open')
    expect(performed).toEqual([])
  })

  it('restarts at once after the first crash, then waits twice as long each time', () => {
    const { clock, tell, hear } = stage({ supervision: SUPERVISION, chance: () => 0.999_999 })
    const restarted = hear('actor.restarted')
    const delays: number[] = []
    for (let crash = 0; crash < 5; crash++) {
      const crashedAt = clock.now()
      tell('ada', broken)
      while (restarted.length === crash) clock.advanceToNext()
      delays.push(Math.round(clock.now() - crashedAt))
    }
    expect(delays).toEqual([0, 100, 200, 400, 800])
    expect(restarted.map(({ crashes }) => crashes)).toEqual([1, 2, 3, 4, 5])
  })

  it('letters wait out the restart and are delivered in order', () => {
    const { clock, tell, pages, diaries } = stage()
    tell('ada', broken)
    clock.advance(0)
    tell('ada', broken, wrote(1), wrote(2))
    expect(diaries.population.states).toEqual({ '(restarting)': 1 })
    expect(pages('ada')).toEqual([])
    clock.advance(100)
    expect(pages('ada')).toEqual([1, 2])
    expect(diaries.population.states).toEqual({ shut: 1 })
  })

  it('that throws while it begins is tried again, and then quarantined', () => {
    const { clock, diaries, tell, hear, host } = stage({ supervision: patient })
    const crashed = hear('actor.crashed')
    diaries.start('ada', { input: { owner: 'nobody' } })
    tell('ada', wrote(1))
    clock.advance(10_000)
    expect(crashed).toHaveLength(4)
    expect(crashed[0]).toMatchObject({ key: 'ada', cause: null })
    expect(String(crashed[0]?.error)).toContain('belongs to somebody')
    expect(host.quarantined()).toEqual([
      { kind: 'diary', key: 'ada', crashes: 4, lettersWaiting: 1 },
    ])
    expect(diaries.population.states).toEqual({ '(quarantined)': 1 })
  })

  it('is noticed by nobody else: thousands work on while some crash for ever', () => {
    const { clock, diaries, host, send, pages } = stage()
    const calm = upTo(1_000).map((index) => `calm-${index}`)
    for (const page of upTo(10)) {
      for (const key of calm) send(key, wrote(page))
      for (const key of ['x', 'y', 'z']) send(key, broken)
      clock.advance(20)
    }
    clock.advance(60_000)
    for (const key of calm) expect(pages(key)).toEqual(upTo(10))
    expect(diaries.population.states).toEqual({ '(quarantined)': 3, shut: 1_000 })
    const { counts } = host.deadLetters
    expect((counts.crashed ?? 0) + (counts.quarantined ?? 0)).toBeGreaterThan(0)
    expect(host.deadLetters.list().every(({ key }) => 'xyz'.includes(key))).toBe(true)
  })

  it('has its old crashes forgiven after the period', () => {
    const { clock, tell, diaries } = stage({ supervision: patient })
    for (let crash = 0; crash < 12; crash++) {
      tell('ada', broken)
      clock.advance(patient.periodMs / patient.crashesMax)
      expect(diaries.population.states).toEqual({ shut: 1 })
    }
  })
})

describe('quarantine', () => {
  function quarantinedDiary(...waiting: DiaryMessage[]) {
    const set = stage({ supervision: { ...patient, crashesMax: 0 } })
    set.tell('ada', wrote(1), { type: 'OPENED' })
    set.tell('ada', broken, ...waiting)
    return set
  }

  it('shows in the population, in the list and as an event, and refuses letters', () => {
    const set = stage({ supervision: { ...patient, crashesMax: 0 } })
    const quarantined = set.hear('actor.quarantined')
    set.tell('ada', wrote(1))
    set.tell('ada', broken, wrote(2))
    expect(quarantined).toMatchObject([{ kind: 'diary', key: 'ada', crashes: 1 }])
    expect(set.diaries.population.states).toEqual({ '(quarantined)': 1 })
    expect(set.host.quarantined()).toMatchObject([{ key: 'ada', lettersWaiting: 1 }])
    expect(set.send('ada', wrote(3))).toBe('quarantined')
    expect(set.host.deadLetters.counts).toEqual({ crashed: 1, quarantined: 1 })
  })

  it('lasts until a person releases it: no timer ends it', () => {
    const { clock, state, host } = quarantinedDiary()
    clock.advance(1_000_000_000)
    expect(host.quarantined()).toHaveLength(1)
    expect(state('ada')).toBe('open')
  })

  it('released, it goes on from its last state with the letters that waited', () => {
    const { clock, host, pages, state, hear } = quarantinedDiary(wrote(2), wrote(3))
    const released = hear('actor.released')
    expect(host.release('diary', 'ada')).toBe(true)
    clock.settle()
    expect(pages('ada')).toEqual([1, 2, 3])
    expect(state('ada')).toBe('open')
    expect(released).toMatchObject([{ key: 'ada' }])
    expect(host.quarantined()).toEqual([])
  })

  it('released from the beginning, it has forgotten its state but not the letters', () => {
    const { clock, host, pages, state, diaries } = quarantinedDiary(wrote(2))
    host.release('diary', 'ada', 'beginning')
    clock.settle()
    expect(pages('ada')).toEqual([2])
    expect(state('ada')).toBe('shut')
    expect(diaries.population.states).toEqual({ shut: 1 })
  })

  it('released from the beginning before its last state was written, the new one is stored', () => {
    const { clock, host, save, snapshots } = quarantinedDiary(wrote(2))
    host.release('diary', 'ada', 'beginning')
    clock.settle()
    save()
    expect(snapshots.load(['diary/ada'])[0]?.text).toContain('[2]')
  })

  it('a deadline of the life it left behind does not ring in the new one', () => {
    const { clock, host, tell, save, context } = stage({
      supervision: { ...patient, crashesMax: 0 },
    })
    tell('bob', wrote(1))
    tell('ada', wrote(1))
    save()
    // Both are due; before ada hears of it, her state turns out to be none that can be written.
    const dueAt = clock.now() + 10
    host.inspect('diary', 'bob', ({ event }) => {
      if (event.type === 'DUE') host.evictIdle()
    })
    tell('bob', { type: 'PROMISED', dueAt })
    tell('ada', { type: 'PROMISED', dueAt }, { type: 'NOTED', note: 1n })
    clock.advanceTo(dueAt)
    expect(host.quarantined()).toMatchObject([{ key: 'ada' }])
    host.release('diary', 'ada', 'beginning')
    clock.advance(1_000)
    expect(context('ada')).toMatchObject({ rings: 0, note: null })
  })

  it('released, it has its crashes forgiven', () => {
    const { clock, host, tell, state } = stage({ supervision: { ...patient, crashesMax: 1 } })
    tell('ada', broken, broken)
    clock.advance(0)
    expect(host.quarantined()).toHaveLength(1)
    host.release('diary', 'ada')
    tell('ada', broken)
    clock.advance(0)
    expect(host.quarantined()).toEqual([])
    expect(state('ada')).toBe('shut')
  })

  it('only the quarantined can be released', () => {
    const { tell, host } = stage()
    tell('ada', wrote(1))
    expect(host.release('diary', 'ada')).toBe(false)
    expect(host.release('diary', 'bob')).toBe(false)
  })

  it('its deadline does not ring meanwhile, and rings after its release', () => {
    const set = stage({ supervision: { ...patient, crashesMax: 0 } })
    set.tell('ada', { type: 'PROMISED', dueAt: START_AT + 100 }, broken)
    set.clock.advance(1_000)
    expect(set.context('ada')?.rings).toBe(0)
    set.host.release('diary', 'ada')
    set.clock.advance(0)
    expect(set.context('ada')?.rings).toBe(1)
  })
})

describe('a performer that throws', () => {
  it('crashes the one who asked; the step stands, and the command is asked for again', () => {
    const asked: string[] = []
    let isBroken = true
    const { clock, tell, state, hear, host } = stage({
      kind: {
        perform: ({ type }) => {
          asked.push(type)
          if (type === 'ask' && isBroken) throw new Error('no line')
        },
      },
    })
    const crashed = hear('actor.crashed')
    tell('ada', { type: 'ASKED' })
    isBroken = false
    expect(crashed).toMatchObject([{ key: 'ada', cause: { type: 'ask' } }])
    clock.advance(0)
    expect(asked).toEqual(['noteQuestion', 'ask', 'noteQuestion', 'ask'])
    expect(state('ada')).toBe('asking')
    expect(host.deadLetters.list()).toEqual([])
    tell('ada', { type: 'ANSWERED' })
    expect(state('ada')).toBe('shut')
  })

  it('on the last step of an actor does not keep it from its end', () => {
    const { tell, diaries, hear } = stage({
      kind: {
        perform: () => {
          throw new Error('no line')
        },
      },
    })
    const finished = hear('actor.finished')
    tell('ada', { type: 'OVERTAKEN' })
    expect(finished).toMatchObject([{ key: 'ada', state: 'overtaken' }])
    expect(diaries.size).toBe(0)
  })
})

describe('listeners', () => {
  it('one that throws harms nobody and is reported', () => {
    const errors: unknown[] = []
    const { host, tell, pages, hear } = stage({ onListenerError: (error) => errors.push(error) })
    host.on('actor.activated', () => {
      throw new Error('deaf')
    })
    const heard = hear('actor.activated')
    tell('ada', wrote(1))
    expect(pages('ada')).toEqual([1])
    expect(heard).toHaveLength(1)
    expect(errors.map(String)).toEqual(['Error: deaf'])
  })

  it('one that has left hears no more', () => {
    const { host, tell } = stage()
    const heard: string[] = []
    const leave = host.on('actor.activated', ({ key }) => heard.push(key))
    tell('ada', wrote(1))
    leave()
    tell('bob', wrote(1))
    expect(heard).toEqual(['ada'])
  })
})

describe('what cannot be written down', () => {
  it('crashes the actor that holds it, and the others of its group are written', () => {
    const { tell, save, clock, snapshots, hear, diaries } = stage({ supervision: patient })
    const crashed = hear('actor.crashed')
    tell('ada', { type: 'NOTED', note: 1n })
    tell('bob', wrote(1))
    save()
    expect(crashed).toMatchObject([{ key: 'ada', cause: null }])
    expect(String(crashed[0]?.error)).toContain('BigInt')
    expect(snapshots.load(['diary/bob'])[0]?.text).toContain('[1]')
    clock.advance(10_000)
    expect(diaries.population.states).toEqual({ '(quarantined)': 1, shut: 1 })
  })

  it('is written after all once it is gone', () => {
    const { tell, save, clock, snapshots } = stage()
    tell('ada', { type: 'NOTED', note: 1n })
    save()
    tell('ada', { type: 'NOTED', note: 'plain' })
    clock.advance(1_000)
    expect(snapshots.load(['diary/ada'])[0]?.text).toContain('plain')
  })
})

describe('superviseCrash', () => {
  const policies = fc.record({
    crashesMax: fc.integer({ min: 0, max: 6 }),
    periodMs: fc.integer({ min: 1, max: 1_000 }),
    delayMs: fc.integer({ min: 1, max: 100 }),
    delayMsMax: fc.integer({ min: 1, max: 2_000 }),
  })
  const rolls = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

  it('delays are spread over the upper half of their range, up to the maximum', () => {
    const delayMs = (earlier: number, roll: number) => {
      const verdict = superviseCrash(
        upTo(earlier).map(() => 0),
        0,
        roll,
        {
          ...patient,
          crashesMax: 100,
        },
      )
      return verdict.kind === 'restart' ? verdict.delayMs : undefined
    }
    expect(upTo(7).map((earlier) => delayMs(earlier, 0))).toEqual([0, 50, 100, 200, 400, 500, 500])
    expect(delayMs(1, 0.5)).toBe(75)
    expect(delayMs(90, 0.999)).toBeLessThan(1_000)
  })

  it('never more than crashesMax restarts in any period', () => {
    const gaps = fc.array(fc.nat(400), { minLength: 1, maxLength: 60 })
    fc.assert(
      fc.property(policies, gaps, rolls, (policy, pauses, roll) => {
        const restarts: number[] = []
        let crashes: readonly number[] = []
        let at = 0
        for (const pause of pauses) {
          at += pause
          const verdict = superviseCrash(crashes, at, roll, policy)
          crashes = verdict.kind === 'restart' ? verdict.crashes : []
          if (verdict.kind === 'restart') {
            restarts.push(at)
            expect(verdict.delayMs).toBeLessThanOrEqual(policy.delayMsMax)
          } else {
            // A person has looked at it and let it go on; the count begins again.
            restarts.length = 0
          }
          const lately = restarts.filter((restartedAt) => restartedAt > at - policy.periodMs)
          expect(lately.length).toBeLessThanOrEqual(policy.crashesMax)
        }
      }),
    )
  })
})
