import { closeSync, type FSWatcher, openSync, readSync, watch } from 'node:fs'
import type { Entry } from './history.ts'

interface Waiting {
  readonly holds: (entry: Entry) => boolean
  readonly resolve: (entry: Entry) => void
}

/** The history as it grows: read whenever somebody has written, and shown to whoever waits. */
export class HistoryFile {
  readonly path: string
  readonly entries: Entry[] = []
  readonly #file: number
  readonly #watcher: FSWatcher
  #rest = Buffer.alloc(0)
  #waiting: Waiting[] = []

  constructor(path: string) {
    this.path = path
    this.#file = openSync(path, 'a+', 0o666)
    this.#watcher = watch(path, () => this.read())
  }

  /** Those that are there already included. */
  until<E extends Entry>(holds: (entry: Entry) => entry is E): Promise<E> {
    this.read()
    const found = this.entries.find(holds)
    if (found) return Promise.resolve(found)
    return new Promise((resolve) => {
      this.#waiting.push({ holds, resolve: resolve as Waiting['resolve'] })
    })
  }

  find<E extends Entry>(holds: (entry: Entry) => entry is E): E | undefined {
    this.read()
    return this.entries.find(holds)
  }

  read(): void {
    const added = this.#readLines().map((line): Entry => JSON.parse(line))
    this.entries.push(...added)
    for (const entry of added)
      this.#waiting = this.#waiting.filter(({ holds, resolve }) => {
        if (!holds(entry)) return true
        resolve(entry)
        return false
      })
  }

  close(): void {
    this.#watcher.close()
    closeSync(this.#file)
  }

  /** Whole lines; half a line waits for its other half. */
  #readLines(): string[] {
    const chunk = Buffer.alloc(64 * 1024)
    let text = this.#rest
    for (let size = readSync(this.#file, chunk); size > 0; size = readSync(this.#file, chunk))
      text = Buffer.concat([text, chunk.subarray(0, size)])
    const end = text.lastIndexOf('\n') + 1
    this.#rest = text.subarray(end)
    return text.toString('utf8', 0, end).split('\n').filter(Boolean)
  }
}
