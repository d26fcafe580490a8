import { describe, expect, it } from 'vitest'
import { type Letter, statechartOf } from '../../src/actors/statechart.ts'
import { stagedJobMachine } from '../machines/staged-job.ts'
import { stage, upTo, wrote } from './fixtures/stage.ts'

const jobMachine = stagedJobMachine({
  backoff: { kind: 'exponential', baseMs: 100, maxMs: 1_000 },
  pauseMsMax: 1_000,
  attemptMsMax: 10_000,
})

describe('order', () => {
  it('letters are delivered in the order of sending, also over many turns', () => {
    const { clock, send, pages } = stage({ limits: { turnEventsMax: 10 } })
    for (const page of upTo(500)) {
      send('ada', wrote(page))
      send('bob', wrote(-page))
    }
    clock.settle()
    expect(pages('ada')).toEqual(upTo(500))
    expect(pages('bob')).toEqual(upTo(500).map((page) => -page))
  })

  it('a letter an actor is sent while it works comes after those that wait already', () => {
    const { clock, send, pages, diaries } = stage({
      kind: { perform: ({ type }, key) => void (type === 'ask' && diaries.send(key, wrote(9))) },
    })
    send('ada', { type: 'ASKED' })
    send('ada', wrote(1))
    clock.settle()
    expect(pages('ada')).toEqual([1, 9])
  })

  it('every event carries the time and the chance of its delivery, whatever the sender put there', () => {
    const seen: object[] = []
    const { clock, host, send } = stage({ chance: () => 0.25 })
    host.inspect('diary', 'ada', ({ event }) => void seen.push(event))
    send('ada', { ...wrote(1), at: 5, roll: 7 } as never)
    clock.settle()
    expect(seen).toEqual([{ type: 'WROTE', page: 1, at: clock.now(), roll: 0.25 }])
  })
})

describe('limits', () => {
  it('a full mailbox refuses the letter to its sender and counts it, and takes more once emptied', () => {
    const { clock, host, send, pages, hear } = stage({ limits: { mailboxLettersMax: 2 } })
    const dead = hear('letter.dead')
    expect(upTo(4).map((page) => send('ada', wrote(page)))).toEqual([
      'accepted',
      'accepted',
      'overflow',
      'overflow',
    ])
    clock.settle()
    expect(send('ada', wrote(4))).toBe('accepted')
    clock.settle()
    expect(pages('ada')).toEqual([0, 1, 4])
    expect(host.deadLetters.counts).toEqual({ overflow: 2 })
    expect(dead.map(({ event, reason }) => ({ event, reason }))).toEqual([
      { event: wrote(2), reason: 'overflow' },
      { event: wrote(3), reason: 'overflow' },
    ])
    expect(host.deadLetters.list()).toEqual(dead)
  })

  it('one full mailbox does not keep another actor from its letters', () => {
    const { clock, send, pages } = stage({ limits: { mailboxLettersMax: 1 } })
    for (const page of upTo(10)) send('ada', wrote(page))
    expect(send('bob', wrote(1))).toBe('accepted')
    clock.settle()
    expect(pages('bob')).toEqual([1])
  })
})

describe('unknown events', () => {
  it('a letter of an unknown type is refused at the edge and never reaches the machine', () => {
    const { clock, host, diaries, tell, pages, hear } = stage()
    const crashed = hear('actor.crashed')
    tell('ada', wrote(1))
    const transitions = diaries.population.transitions
    expect(diaries.send('ada', { type: 'EXPLODED' } as never)).toBe('unknownEvent')
    tell('bob', wrote(2))
    expect(diaries.population.transitions).toBe(transitions + 2)
    expect(pages('ada')).toEqual([1])
    expect(pages('bob')).toEqual([2])
    expect(crashed).toEqual([])
    expect(host.deadLetters.list()).toEqual([
      {
        kind: 'diary',
        key: 'ada',
        event: { type: 'EXPLODED' },
        reason: 'unknownEvent',
        at: clock.now(),
      },
    ])
  })

  it('a letter of an unknown type calls nobody into being', () => {
    const { clock, diaries } = stage()
    expect(diaries.send('ada', { type: 'EXPLODED' } as never)).toBe('unknownEvent')
    clock.settle()
    expect(diaries.size).toBe(0)
  })

  it('nobody outside can send the events that XState sends itself', () => {
    const { clock, host } = stage()
    const chart = statechartOf(jobMachine)
    const jobs = host.register<Letter, Letter>({
      name: 'job',
      chart: () => chart,
      perform: () => {},
      isDurable: false,
    })
    jobs.start('j1', { input: { jobId: 'j1', attempt: 1, attemptsMax: 3, fence: 1 } })
    const finished = 'xstate.done.state.job-staged.working'
    expect(jobMachine.events).toContain(finished)
    expect(jobs.send('j1', { type: finished })).toBe('unknownEvent')
    clock.settle()
    expect(jobs.peek('j1')?.value).toEqual({ working: 'loading' })
  })
})

describe('fairness', () => {
  it('ten thousand letters for one do not delay another’s single letter by more than a fair share', () => {
    const order: string[] = []
    const { clock, host, send } = stage({
      limits: { mailboxLettersMax: 10_000, fairShareEventsMax: 16 },
    })
    for (const key of ['busy', 'calm']) host.inspect('diary', key, () => void order.push(key))
    send('busy', wrote(0))
    send('calm', wrote(0))
    clock.settle()
    order.length = 0
    for (const page of upTo(10_000)) send('busy', wrote(page))
    send('calm', wrote(1))
    clock.settle()
    expect(order.indexOf('calm')).toBe(16)
    expect(order).toHaveLength(10_001)
  })

  it('everybody gets a share of every round while somebody floods', () => {
    const done: string[] = []
    const { clock, host, send } = stage({
      limits: { mailboxLettersMax: 10_000, fairShareEventsMax: 4 },
    })
    const keys = ['flooded', ...upTo(50).map((index) => `calm-${index}`)]
    for (const key of keys) send(key, wrote(0))
    clock.settle()
    for (const key of keys) host.inspect('diary', key, () => void done.push(key))
    for (const page of upTo(1_000)) send('flooded', wrote(page))
    for (const key of keys.slice(1)) for (const page of upTo(8)) send(key, wrote(page))
    clock.settle()
    const lastCalm = done.findLastIndex((key) => key !== 'flooded')
    expect(lastCalm).toBeLessThan(2 * keys.length * 4)
  })

  it('turns end, so that input and output have theirs in between', () => {
    const { clock, send, pages } = stage({
      limits: { mailboxLettersMax: 10_000, turnEventsMax: 100 },
    })
    const seenByOthers: number[] = []
    const watch = () => {
      seenByOthers.push(pages('ada')?.length ?? 0)
      if (seenByOthers.length < 200) clock.soon(watch)
    }
    for (const page of upTo(10_000)) send('ada', wrote(page))
    clock.soon(watch)
    clock.settle()
    const leaps = seenByOthers.slice(1).map((count, index) => count - seenByOthers[index]!)
    expect(Math.max(...leaps)).toBeLessThanOrEqual(100 + 16)
    expect(pages('ada')).toHaveLength(10_000)
  })
})
