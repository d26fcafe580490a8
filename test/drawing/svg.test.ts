import { describe, expect, it } from 'vitest'
import { drawingOf } from '../../src/drawing/svg.ts'
import { chartOf } from '../../src/machines/chart.ts'
import { awkwardlyNamed, jobLike, limiterLike, parallelLike } from './fixture-machines.ts'
import { xmlProblem } from './well-formed.ts'

const drawn = await Promise.all(
  [limiterLike, jobLike, parallelLike, awkwardlyNamed].map(async (machine) => {
    const chart = chartOf(machine)
    return { id: machine.id, machine, chart, svg: await drawingOf(chart) }
  }),
)

describe.each(drawn)('the drawing of $id', ({ machine, chart, svg }) => {
  it('is well-formed XML', () => {
    expect(xmlProblem(svg)).toBeNull()
  })

  it('has one group for every state and one for every transition', () => {
    expect(valuesOf(svg, 'data-state')).toEqual(chart.states.map(({ id }) => id))
    expect(valuesOf(svg, 'data-transition')).toEqual(chart.transitions.map(({ id }) => id))
  })

  it('shows every description as a tooltip', () => {
    const tooltips = [...svg.matchAll(/<title>([^<]*)<\/title>/g)].map((match) => match[1] ?? '')
    const described = [...chart.states, ...chart.transitions].map(({ description }) => description)
    for (const [index, description] of described.entries()) {
      expect(unescaped(tooltips[index] ?? '')).toContain(description)
    }
  })

  it('is the same to the last byte when the machine is drawn again', async () => {
    expect(await drawingOf(chartOf(machine))).toBe(svg)
  })

  it('styles nothing outside itself', () => {
    const style = /<style>([^<]*)<\/style>/.exec(svg)?.[1] ?? ''
    const selectors = [...style.matchAll(/([^{}]+)\{/g)].map((match) => (match[1] ?? '').trim())
    const rules = selectors.filter((selector) => !selector.startsWith('@'))
    expect(rules.length).toBeGreaterThan(10)
    for (const selector of rules.flatMap((each) => each.split(/,(?![^(]*\))/))) {
      expect(selector.trim()).toMatch(/^\.statechart\b/)
    }
  })
})

describe('drawings', () => {
  it('can share a page: no id is used twice, and all are valid', () => {
    const ids = drawn.flatMap(({ svg }) => valuesOf(svg, 'id'))
    expect(new Set(ids).size).toBe(ids.length)
    for (const id of ids) expect(id).toMatch(/^[A-Za-z_][\w.:-]*$/)
  })

  it('mark final states with a second border', () => {
    const job = drawn.find(({ id }) => id === 'job')
    const finals = job?.chart.states.filter(({ kind }) => kind === 'final')
    expect(job?.svg.match(/class="ring"/g)).toHaveLength(finals?.length ?? 0)
  })

  it('mark what is entered first with a dot, in every compound state', () => {
    const dots = (id: string) =>
      drawn.find((each) => each.id === id)?.svg.match(/class="dot"/g)?.length
    expect(dots('limiter')).toBe(1)
    expect(dots('job')).toBe(2)
    expect(dots('player')).toBe(2)
  })

  it('write the guard after its event, in its own style', () => {
    const limiter = drawn.find(({ id }) => id === 'limiter')?.svg
    expect(limiter).toContain(
      '<tspan class="event">RELEASED</tspan> <tspan class="guard">[quiet]</tspan>',
    )
  })
})

describe('the check for well-formed XML', () => {
  it.each([
    ['<a><b></a></b>'],
    ['<a>fish & chips</a>'],
    ['<a x="<"/>'],
    ['<a x="1" x="2"/>'],
    ['<a/><b/>'],
    ['<a>'],
    ['<a x=1/>'],
  ])('refuses %s', (xml) => {
    expect(xmlProblem(xml)).not.toBeNull()
  })
})

function valuesOf(svg: string, attribute: string): string[] {
  return [...svg.matchAll(new RegExp(` ${attribute}="([^"]*)"`, 'g'))].map((match) =>
    unescaped(match[1] ?? ''),
  )
}

function unescaped(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')
}
