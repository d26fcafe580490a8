import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/**
 * sound    everything passes
 * cutting  the next answer, and with it its connection, is lost after `lettersBefore` letters
 * silent   questions pass, answers do not; nobody is told
 */
type Condition =
  | { readonly kind: 'sound' }
  | { readonly kind: 'cutting'; readonly lettersBefore: number }
  | { readonly kind: 'silent' }

/** A way to a server that breaks when the test says so. Gone when the test ends. */
export class FaultyCable {
  readonly #sockets = new Set<Socket>()
  #condition: Condition = { kind: 'sound' }
  #misheard: { readonly said: string; readonly heard: string } | undefined
  #port = 0

  static async to(serverPort: number): Promise<FaultyCable> {
    const cable = new FaultyCable()
    const listener = createServer((near) => cable.#join(near, connect(serverPort, '127.0.0.1')))
    listener.listen(0, '127.0.0.1')
    await once(listener, 'listening')
    cable.#port = (listener.address() as AddressInfo).port
    onTestFinished(() => {
      listener.close()
      for (const socket of cable.#sockets) socket.destroy()
    })
    return cable
  }

  get url(): string {
    return `redis://127.0.0.1:${this.#port}`
  }

  /** The server has done what it was asked to do; whoever asked learns of `lettersBefore` at most. */
  cutNextAnswer(lettersBefore = 0): void {
    this.#condition = { kind: 'cutting', lettersBefore }
  }

  fallSilent(): void {
    this.#condition = { kind: 'silent' }
  }

  heal(): void {
    this.#condition = { kind: 'sound' }
  }

  /** The next time somebody says this, the server hears something else of the same length. */
  mishearNext(said: string, heard: string): void {
    this.#misheard = { said, heard }
  }

  #join(near: Socket, far: Socket): void {
    for (const socket of [near, far]) {
      this.#sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => this.#sockets.delete(socket))
    }
    near.on('close', () => far.destroy())
    far.on('close', () => {
      if (this.#condition.kind !== 'silent') near.destroySoon()
    })
    near.on('data', (question) => far.write(this.#asHeard(question)))
    far.on('data', (answer) => this.#pass(answer, near))
  }

  #asHeard(question: Buffer): Buffer {
    const place = this.#misheard ? question.indexOf(this.#misheard.said) : -1
    if (!this.#misheard || place < 0) return question
    const changed = Buffer.from(question)
    changed.write(this.#misheard.heard, place)
    this.#misheard = undefined
    return changed
  }

  #pass(answer: Buffer, near: Socket): void {
    const condition = this.#condition
    if (condition.kind === 'sound') near.write(answer)
    if (condition.kind !== 'cutting') return
    this.heal()
    near.write(answer.subarray(0, condition.lettersBefore))
    near.destroySoon()
  }
}
