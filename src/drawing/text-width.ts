/**
 * Widths in em of the widest common interface fonts: a drawing is laid out where no font can be
 * measured, and a box a little too wide is better than a letter outside it.
 */
const widthsEm: readonly (readonly [characters: string, em: number])[] = [
  ["ijl.,:;'|!", 0.32],
  ['ftrI()[]{}/\\" ', 0.42],
  ['mMwW@%—', 0.98],
  ['GHNOQDU', 0.79],
  ['ABCEFKLPRSTVXYZ&+=<>~#', 0.7],
]
const ordinaryEm = 0.63

const widthOf = new Map(
  widthsEm.flatMap(([characters, em]) => [...characters].map((character) => [character, em])),
)

export function textWidth(text: string, fontSize: number): number {
  const em = [...text].reduce((sum, character) => sum + (widthOf.get(character) ?? ordinaryEm), 0)
  return Math.ceil(em * fontSize)
}

export function boldTextWidth(text: string, fontSize: number): number {
  return Math.ceil(textWidth(text, fontSize) * 1.1)
}
