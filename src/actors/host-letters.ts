import type { Letter } from './statechart.ts'

/** Letters of the host itself: they do not go through the mailbox, and nobody else sends them. */

export const DUE: Letter = Object.freeze({ type: 'DUE' })

export function resumed(input: object): Letter & { readonly input: object } {
  return { type: 'RESUMED', input }
}

export function isFromHost(letter: Letter): boolean {
  return letter === DUE || letter.type === 'RESUMED'
}
