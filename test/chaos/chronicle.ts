/**
 * The file in which the nodes of a scenario write down what happens to them. Each line is in the
 * kernel before the next step is taken, so a process that is killed loses nothing it has written,
 * and the lines of several processes stand in the order in which they were written.
 */
import { openSync, writeSync } from 'node:fs'
import type { Deed, Witness } from './history.ts'

export class Chronicle {
  readonly #file: number
  readonly #witness: Witness

  constructor(path: string, witness: Witness) {
    this.#file = openSync(path, 'a')
    this.#witness = witness
  }

  write(...deeds: readonly Deed[]): void {
    if (deeds.length === 0) return
    const lines = deeds.map((deed) => `${JSON.stringify({ ...this.#witness, ...deed })}\n`)
    writeSync(this.#file, lines.join(''))
  }
}
