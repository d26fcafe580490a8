import { describe, expect, it } from 'vitest'
import { costOf, faultsOf } from '../../src/drawing/legibility.ts'
import { at, placed, plainLayout } from './plain-layout.ts'

it('a plain drawing has no fault', () => {
  expect(faultsOf(plainLayout())).toEqual([])
})

describe('a drawing is hard to read when', () => {
  it('two labels overlap', () => {
    const layout = plainLayout()
    const [first, second] = layout.edges
    if (first && second) second.labels = first.labels.map((each) => ({ ...each }))
    expect(faultsOf(layout)).toContain('label a:GO:0 on label a:GO:0')
  })

  it('a label stands on a state', () => {
    const layout = plainLayout()
    const label = layout.edges[0]?.labels[0]
    if (label) label.box.y = 15
    expect(faultsOf(layout)).toContain('label a:GO:0 on state a')
  })

  it('a label stands on the border of a compound state', () => {
    const layout = plainLayout()
    layout.states.push(placed('outer', 'compound', { x: 45, y: 0, width: 400, height: 400 }))
    expect(faultsOf(layout)).toContain('label a:GO:0 on state outer')
  })

  it('a line runs through a label that is not its own', () => {
    const layout = plainLayout()
    layout.edges[1]?.points.splice(0, 2, { x: 20, y: 110 }, { x: 180, y: 110 })
    expect(faultsOf(layout)).toContain('line b → a through label a:GO:0')
  })

  it('a line runs through a state', () => {
    const layout = plainLayout()
    layout.initials.push({
      parent: '',
      target: 'b',
      dot: { x: 0, y: 0, width: 10, height: 10 },
      points: [
        { x: 25, y: 0 },
        { x: 25, y: 200 },
      ],
    })
    expect(faultsOf(layout)).toContain('line first of  through state a')
  })

  it('a line has lost its label', () => {
    const layout = plainLayout()
    const label = layout.edges[0]?.labels[0]
    if (label) label.box.x = 300
    expect(faultsOf(layout)).toContain('line a → b away from its labels')
  })

  it('two lines run so close that they look like one', () => {
    const layout = plainLayout()
    layout.edges[1]?.points.splice(0, 2, { x: 52, y: 200 }, { x: 52, y: 40 })
    expect(faultsOf(layout)).toContain('line a → b too close to line b → a')
  })

  it('two states overlap', () => {
    const layout = plainLayout()
    layout.states.push(placed('c', 'atomic', { x: 90, y: 30, width: 100, height: 30 }))
    expect(faultsOf(layout)).toContain('state c on state a')
  })
})

describe('of two layouts without a fault', () => {
  it('the one with fewer crossings is better', () => {
    const crossed = plainLayout()
    const line = { source: 'a', target: 'b', backwards: false, transitions: [], labels: [] }
    const straight = { ...line, points: [at(20, 60), at(300, 60)] }
    crossed.edges.push(straight)
    const apart = plainLayout()
    apart.edges.push({ ...straight, points: [at(200, 60), at(480, 60)] })
    expect(faultsOf(crossed)).toEqual([])
    expect(costOf(crossed)).toBeGreaterThan(costOf(apart))
  })

  it('the one that fits a screen is better than the one that is endlessly wide', () => {
    const [wide, square] = [plainLayout(), plainLayout()]
    wide.width = 1600
    wide.height = 400
    square.width = 800
    square.height = 800
    expect(costOf(wide)).toBeGreaterThan(costOf(square))
  })
})
