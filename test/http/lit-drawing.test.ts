import { expect, it } from 'vitest'
import { litDrawing } from '../../src/http/lit-drawing.ts'

const svg = ['', 'working', 'working.fetching', 'working.parsing', 'done']
  .map((id) => `<g id="s-${id}" class="state atomic" data-state="${id}"></g>`)
  .join('\n')

it('a state inside another lights both, and only these', () => {
  expect(litStates({ 'working.fetching': 3 })).toEqual(['working', 'working.fetching'])
})

it('states of parallel regions are all lit', () => {
  expect(litStates({ 'working.fetching+done': 1 })).toEqual(['working', 'working.fetching', 'done'])
})

it('a drawing of a machine that nobody runs is left as it is', () => {
  expect(litDrawing(svg, null)).toBe(svg)
})

function litStates(states: Record<string, number>): string[] {
  const lit = litDrawing(svg, { states, transitions: 0 })
  return [...lit.matchAll(/ active" data-state="([^"]*)"/g)].map(([, state]) => state ?? '')
}
