import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { driftOf, writeDocuments } from '../../src/drawing/document-files.ts'
import { documentsOf } from '../../src/drawing/documents.ts'
import type { ProofFigures } from '../../src/drawing/page.ts'
import { awkwardlyNamed, parallelLike } from './fixture-machines.ts'

const figures: ProofFigures = {
  bounds: 'one waiter, one permit',
  configurations: 12_345,
  transitions: 5,
  transitionsTaken: 5,
  guards: 2,
  guardsBothWays: 1,
  paths: 7,
  steps: 21,
  crashReplays: 28,
  commands: new Map([['sound.on:MUTE:0', ['hush', 'dim']]]),
}

const proved = [
  { machine: parallelLike, figures },
  { machine: awkwardlyNamed, figures },
]
const documents = await documentsOf(proved)
const page = (path: string) => documents.get(`docs/machines/${path}`) ?? ''

describe('the documents', () => {
  it('are a page and a drawing for each machine, and the report', () => {
    expect([...documents.keys()].sort()).toEqual([
      'docs/machines/README.md',
      'docs/machines/awkward.md',
      'docs/machines/awkward.svg',
      'docs/machines/player.md',
      'docs/machines/player.svg',
    ])
  })

  it('are the same to the last byte when made again', async () => {
    expect(await documentsOf(proved)).toEqual(documents)
  })

  it('show the drawing, the Mermaid diagram and the description', () => {
    expect(page('player.md')).toContain('![Statechart of player](player.svg)')
    expect(page('player.md')).toContain('```mermaid\nstateDiagram-v2\n')
    expect(page('player.md')).toContain('Two things at once.')
  })

  it('tell for each transition where from, on what, with which commands and where to', () => {
    expect(page('player.md')).toContain(
      '| `sound.on` | `MUTE` |  | `hush`, `dim` | `sound.off` | Quiet, please. |',
    )
    expect(page('player.md')).toContain(
      '| *any* | `RESET` |  |  | `sound.on`, `screen.off` | Both go back. |',
    )
    expect(page('awkward.md')).toContain('| *stays* | Inline action. |')
  })

  it('tell for each state what it is', () => {
    expect(page('player.md')).toContain('| `sound.on` | atomic, initial |  | Loud. |')
  })

  it('state the figures of the proof, on the page and in the report', () => {
    expect(page('player.md')).toContain('one waiter, one permit')
    expect(page('player.md')).toContain('| Transitions taken | 5 of 5 |')
    expect(page('player.md')).toContain('| Guards seen true and false | 1 of 2 |')
    expect(page('README.md')).toContain(
      '| [`player`](player.md) | 6 | 5 of 5 | 1 of 2 | 12,345 | 7 | 21 | 28 |',
    )
  })

  it('keep every row of a table on one line with the right number of cells', () => {
    const tables = [...documents.values()].join('\n').split('\n\n')
    for (const table of tables.filter((part) => part.startsWith('| '))) {
      const cells = table.split('\n').map((row) => row.split(/(?<!\\)\|/).length)
      expect(new Set(cells).size).toBe(1)
    }
    expect(page('awkward.md')).toContain(
      'A &lt;keyword&gt; with a \\| pipe &amp; a "quote". And a second line.',
    )
  })

  it('refuse two machines with the same id', async () => {
    const twice = [...proved, { machine: parallelLike, figures }]
    await expect(documentsOf(twice)).rejects.toThrow('Two machines are called "player"')
  })
})

describe('the files', () => {
  const wanted = new Map([
    ['docs/machines/README.md', 'report'],
    ['docs/machines/a.md', 'page'],
  ])
  let root = ''

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'documents-'))
  })
  afterEach(() => rm(root, { recursive: true }))

  it('are all missing before they are written, and current afterwards', async () => {
    expect(await driftOf(root, wanted)).toEqual([
      'docs/machines/README.md is missing',
      'docs/machines/a.md is missing',
    ])
    await writeDocuments(root, wanted)
    expect(await driftOf(root, wanted)).toEqual([])
  })

  it('are named when they differ or are left over, and put right by writing again', async () => {
    await writeDocuments(root, wanted)
    await writeFile(join(root, 'docs/machines/a.md'), 'edited by hand')
    await writeFile(join(root, 'docs/machines/gone.svg'), 'of a machine that is no more')
    expect(await driftOf(root, wanted)).toEqual([
      'docs/machines/a.md differs',
      'docs/machines/gone.svg is left over',
    ])
    await writeDocuments(root, wanted)
    expect(await driftOf(root, wanted)).toEqual([])
    expect(await readFile(join(root, 'docs/machines/a.md'), 'utf8')).toBe('page')
  })

  it('are not touched by a check', async () => {
    await mkdir(join(root, 'docs/machines'), { recursive: true })
    await writeFile(join(root, 'docs/machines/gone.svg'), 'still here')
    await driftOf(root, wanted)
    expect(await readFile(join(root, 'docs/machines/gone.svg'), 'utf8')).toBe('still here')
  })
})
