import { describe, expect, it } from 'vitest'
import type { AnyTransitionDefinition } from 'xstate'
import type { InspectedStep } from '../../src/actors/statechart.ts'
import { transitionIds } from '../../src/machines/chart.ts'
import { diaryMachine } from './fixtures/diary-machine.ts'
import { stage, wrote } from './fixtures/stage.ts'

const ids = transitionIds(diaryMachine)

function taken({ transitions }: InspectedStep): (string | undefined)[] {
  return transitions.map((transition) => ids.get(transition as AnyTransitionDefinition))
}

describe('inspection', () => {
  it('shows each step with its event, its exact transitions and the states around it', () => {
    const { host, tell } = stage()
    tell('ada', wrote(1))
    const steps: InspectedStep[] = []
    host.inspect('diary', 'ada', (step) => void steps.push(step))
    tell('ada', { type: 'ASKED' }, { type: 'ANSWERED' }, wrote(2))
    expect(steps.map(taken)).toEqual([[':ASKED:0'], ['asking:ANSWERED:0'], [':WROTE:0']])
    expect(
      steps.map(({ event, before, snapshot }) => [event.type, before.value, snapshot.value]),
    ).toEqual([
      ['ASKED', 'shut', 'asking'],
      ['ANSWERED', 'asking', 'shut'],
      ['WROTE', 'shut', 'shut'],
    ])
    expect(steps[0]?.commands).toEqual([{ type: 'noteQuestion' }, { type: 'ask' }])
  })

  it('an event nobody handles is a step without transitions', () => {
    const { host, tell } = stage()
    const steps: InspectedStep[] = []
    tell('ada', wrote(1))
    host.inspect('diary', 'ada', (step) => void steps.push(step))
    tell('ada', { type: 'ANSWERED' })
    expect(steps.map(taken)).toEqual([[]])
  })

  it('changes nothing: an inspected actor does and asks for what another does', () => {
    const { host, tell, performed, diaries } = stage()
    host.inspect('diary', 'seen', () => {})
    for (const key of ['seen', 'unseen'])
      tell(key, wrote(1), { type: 'ASKED' }, wrote(2), { type: 'ANSWERED' })
    const [seen, unseen] = ['seen', 'unseen'].map((key) => ({
      context: { ...diaries.peek(key)?.context, owner: '' },
      commands: performed.filter((done) => done.key === key).map(({ command }) => command),
    }))
    expect(seen).toEqual(unseen)
  })

  it('other actors of the same machine produce nothing', () => {
    const { host, tell } = stage()
    const steps: InspectedStep[] = []
    host.inspect('diary', 'ada', (step) => void steps.push(step))
    tell('bob', wrote(1), { type: 'ASKED' })
    expect(steps).toEqual([])
  })

  it('may begin before the actor is there, and survives its crash, its sleep and its end', () => {
    const { clock, host, tell, save } = stage({ kind: { idleMs: 1_000 } })
    const heard: string[] = []
    host.inspect('diary', 'ada', ({ event }) => void heard.push(event.type))
    tell('ada', wrote(1), { type: 'ASSIGN_THROWS' })
    clock.advance(1_000)
    host.evictIdle()
    save()
    tell('ada', wrote(2), { type: 'BURNT' })
    tell('ada', wrote(3))
    expect(heard).toEqual(['WROTE', 'RESUMED', 'RESUMED', 'WROTE', 'BURNT', 'WROTE'])
  })

  it('ends with detaching, for this one only', () => {
    const { host, tell } = stage()
    const heard: string[] = []
    const detachA = host.inspect('diary', 'ada', () => void heard.push('a'))
    host.inspect('diary', 'ada', () => void heard.push('b'))
    tell('ada', wrote(1))
    detachA()
    tell('ada', wrote(2))
    expect(heard).toEqual(['a', 'b', 'b'])
  })

  it('detaching twice does not detach whoever came after', () => {
    const { host, tell } = stage()
    const heard: string[] = []
    tell('ada', wrote(0))
    const detach = host.inspect('diary', 'ada', () => void heard.push('first'))
    detach()
    host.inspect('diary', 'ada', () => void heard.push('second'))
    detach()
    tell('ada', wrote(1))
    expect(heard).toEqual(['second'])
  })

  it('an inspector that throws harms nobody and is reported', () => {
    const errors: unknown[] = []
    const { host, tell, pages, hear } = stage({ onListenerError: (error) => errors.push(error) })
    const crashed = hear('actor.crashed')
    host.inspect('diary', 'ada', () => {
      throw new Error('blind')
    })
    tell('ada', wrote(1))
    expect(pages('ada')).toEqual([1])
    expect(crashed).toEqual([])
    expect(errors.map(String)).toEqual(['Error: blind'])
  })
})
