import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { VirtualClock } from '../../src/actors/virtual-clock.ts'
import { drawingOf } from '../../src/drawing/svg.ts'
import { type Chart, chartOf } from '../../src/machines/chart.ts'
import { processMachine } from '../../src/machines/process.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type DrawingSources, drawingSources, openDrawings } from '../../src/runtime/drawings.ts'

const chart = chartOf(processMachine())
const nowhere = { folder: join(import.meta.dirname, 'no-such-folder') }

let folder = ''
let svg = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'decorum-drawings-'))
  svg = await drawingOf(chart)
  await writeFile(join(folder, 'process.svg'), svg)
})
afterAll(() => rm(folder, { recursive: true }))

describe('drawings', () => {
  it('a drawing made beforehand is read, not drawn again', async () => {
    const { drawings, drawn } = open({ folder })
    expect(await drawings.atHand(chart)).toBe(svg)
    expect(await drawings.of(chart)).toBe(svg)
    expect(drawn).toEqual([])
  })

  it('a file that shows other states or transitions than the machine has is not used', async () => {
    const { transitions, ...rest } = chart
    const { drawings } = open({ folder })
    expect(await drawings.atHand({ ...rest, transitions: transitions.slice(1) })).toBeUndefined()
    const [first, ...others] = transitions
    const renamed = { ...rest, transitions: [{ ...first!, id: 'starting:BEGUN:0' }, ...others] }
    expect(await drawings.atHand(renamed)).toBeUndefined()
  })

  it('asking what is at hand never draws', async () => {
    const { drawings, drawn } = open(nowhere)
    expect(await drawings.atHand(chart)).toBeUndefined()
    expect(drawn).toEqual([])
  })

  it('everybody who asks while a drawing is made gets that one, and so do those after', async () => {
    const { drawings, drawn } = open(nowhere)
    const asked = await Promise.all([drawings.of(chart), drawings.of(chart)])
    expect([...asked, await drawings.of(chart), await drawings.atHand(chart)]).toEqual(
      Array(4).fill('<svg>process</svg>'),
    )
    expect(drawn).toEqual(['process'])
  })

  it('only one is drawn at a time', async () => {
    let atWork = 0
    let atWorkMax = 0
    const { drawings } = open({
      ...nowhere,
      async draw({ id }) {
        atWorkMax = Math.max(atWorkMax, ++atWork)
        await Promise.resolve()
        atWork--
        return id
      },
    })
    const charts = ['a', 'b', 'c'].map((id) => ({ ...chart, id }))
    expect(await Promise.all(charts.map((each) => drawings.of(each)))).toEqual(['a', 'b', 'c'])
    expect(atWorkMax).toBe(1)
  })

  it('a failure is told to whoever asked, and the next one tries again', async () => {
    let tries = 0
    const { drawings } = open({
      ...nowhere,
      draw: async () => {
        if (++tries === 1) throw new Error('out of ink')
        return 'drawn'
      },
    })
    await expect(drawings.of(chart)).rejects.toThrow('out of ink')
    expect(await drawings.of(chart)).toBe('drawn')
  })

  it('a drawing that takes too long is given up', async () => {
    const clock = new VirtualClock()
    const begun = Promise.withResolvers<void>()
    const drawings = openDrawings(clock, {
      ...nowhere,
      drawMsMax: 1_000,
      draw(_chart, signal) {
        begun.resolve()
        return untilAborted(signal)
      },
    })
    const drawing = drawings.of(chart)
    await begun.promise
    clock.advance(1_000)
    await expect(drawing).rejects.toThrow('took longer than 1000 ms')
  })

  it('closing ends what is being drawn and refuses the rest', async () => {
    const begun = Promise.withResolvers<void>()
    const { drawings } = open({
      ...nowhere,
      draw(_chart, signal) {
        begun.resolve()
        return untilAborted(signal)
      },
    })
    const asked = [drawings.of(chart), drawings.of({ ...chart, id: 'next' })]
    const answers = Promise.allSettled(asked)
    await begun.promise
    await drawings.close()
    expect((await answers).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await expect(drawings.of(chart)).rejects.toThrow('The process stops.')
  })
})

describe('the drawing thread', () => {
  it('draws the same as this thread would', async () => {
    const drawings = openDrawings(systemClock, { ...drawingSources, ...nowhere })
    onTestFinished(() => drawings.close())
    expect(await drawings.of(chart)).toBe(svg)
  })

  it('that fails says why', async () => {
    const drawings = openDrawings(systemClock, { ...drawingSources, ...nowhere })
    onTestFinished(() => drawings.close())
    await expect(drawings.of({ ...chart, states: [] })).rejects.toThrow()
  })

  it('is ended when its drawing is no longer wanted', async () => {
    const unwanted = new AbortController()
    const drawing = drawingSources.draw(chart, unwanted.signal)
    unwanted.abort(new Error('nobody waits'))
    await expect(drawing).rejects.toThrow('nobody waits')
  })
})

function open(sources: Partial<DrawingSources>) {
  const drawn: string[] = []
  const draw = async ({ id }: Chart) => {
    drawn.push(id)
    return `<svg>${id}</svg>`
  }
  const drawings = openDrawings(new VirtualClock(), { ...drawingSources, draw, ...sources })
  return { drawings, drawn }
}

function untilAborted(signal: AbortSignal): Promise<string> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
  })
}
