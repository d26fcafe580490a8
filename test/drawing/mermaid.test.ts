import { describe, expect, it } from 'vitest'
import { createMachine } from 'xstate'
import { mermaidOf } from '../../src/drawing/mermaid.ts'
import { chartOf } from '../../src/machines/chart.ts'
import { awkwardlyNamed, jobLike, limiterLike, parallelLike } from './fixture-machines.ts'

const linesOf = (machine: Parameters<typeof chartOf>[0]) =>
  mermaidOf(chartOf(machine))
    .split('\n')
    .map((line) => line.trim())

describe('the Mermaid diagram', () => {
  it.each([limiterLike, jobLike, parallelLike])('names every event of $id', (machine) => {
    const chart = chartOf(machine)
    const text = mermaidOf(chart)
    for (const { event, guard } of chart.transitions.filter(({ event }) => event !== '*')) {
      expect(text).toContain(guard === '' ? event : `${event || 'always'} [${guard}]`)
    }
  })

  it('gives transitions between the same two states one line with several labels', () => {
    expect(linesOf(limiterLike)).toContain(
      's_flowing --> s_idle : RELEASED [quiet]<br/>PERMIT_EXPIRED [quiet]',
    )
  })

  it('lists what happens without a change of state inside the box', () => {
    expect(linesOf(limiterLike)).toContain('s_pacing : DUE [hasToken]')
    expect(linesOf(limiterLike)).toContain('s_cooling : ↻ THROTTLED')
  })

  it('marks what is entered first and where it ends, on every level', () => {
    const lines = linesOf(jobLike)
    expect(lines).toContain('[*] --> s_working')
    expect(lines).toContain('[*] --> s_working_fetching')
    expect(lines).toContain('s_working_complete --> [*]')
    expect(lines).toContain('s_lost --> [*]')
  })

  it('nests the states of a compound state', () => {
    const lines = linesOf(jobLike)
    const start = lines.indexOf('state "working" as s_working {')
    const end = lines.indexOf('}')
    const inside = lines.slice(start, end)
    expect(inside).toContain('state "parsing" as s_working_parsing')
    expect(inside).not.toContain('state "settling" as s_settling')
    expect(lines).toContain('state "settling" as s_settling')
  })

  it('lets no line cross a border: the label names the state inside', () => {
    expect(linesOf(jobLike)).toContain('s_working --> s_skipped : UNCHANGED (in fetching)')
    expect(linesOf(parallelLike)).toContain('any_s_player --> s_sound : RESET (to on)')
  })

  it('lets "any state" speak for a compound state towards its own inside', () => {
    const lines = linesOf(jobLike)
    expect(lines).toContain('any_s_working --> s_working_again : RESUMED')
    expect(lines).toContain('any_s_job : INSPECTED')
  })

  it('sends a transition to a surrounding state to where it ends up: the first state inside', () => {
    const machine = createMachine({
      id: 'up',
      initial: 'a',
      states: {
        a: { initial: 'b', states: { b: { on: { NEXT: 'c' } }, c: { on: { AGAIN: '#up.a' } } } },
      },
    })
    expect(linesOf(machine)).toContain('s_a_c --> s_a_b : AGAIN')
  })

  it('keeps clear of words and characters that Mermaid takes for its own', () => {
    const lines = linesOf(awkwardlyNamed)
    expect(lines).toContain('s_end --> s_state : a#59;b#35;c')
    expect(lines).toContain('s_default --> s_state : #42;')
    expect(lines).toContain('s_end --> s_default : vendor.note#58;added [(inline)]')
    const labels = lines.map((line) => line.replace(/^[^:]*:?/, '').replace(/#\d+;/g, ''))
    for (const label of labels) expect(label).not.toMatch(/[:;#]/)
  })

  it('never gives two states the same id', () => {
    const machine = createMachine({
      id: 'alike',
      initial: 'a_b',
      states: { a_b: {}, 'a-b': {}, a: { initial: 'b', states: { b: {} } } },
    })
    const ids = linesOf(machine).flatMap((line) => / as (\w+)/.exec(line)?.[1] ?? [])
    expect(ids).toHaveLength(4)
    expect(new Set(ids).size).toBe(4)
  })
})
