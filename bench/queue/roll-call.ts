/** Ticks off every job by its number, so that lost and repeated starts are known, not assumed. */
export class RollCall {
  #starts = new Uint8Array(0)
  #missing = 0
  #repeated = 0
  #complete = Promise.withResolvers<void>()

  /** Begins anew with jobs 0 to `count` - 1; resolves when each has started. */
  expect(count: number): Promise<void> {
    this.#starts = new Uint8Array(count)
    this.#missing = count
    this.#repeated = 0
    this.#complete = Promise.withResolvers<void>()
    return this.#complete.promise
  }

  readonly tick = (n: number): void => {
    if (this.#starts[n] !== 0) {
      this.#repeated++
      return
    }
    this.#starts[n] = 1
    if (--this.#missing === 0) this.#complete.resolve()
  }

  get repeated(): number {
    return this.#repeated
  }
}
