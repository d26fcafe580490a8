/**
 * One scenario: a store, the nodes that live and die on it, and the history they leave. When it is
 * over, the history and the store have to agree on every promise.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { expect } from 'vitest'
import { systemClock } from '../../src/runtime/clock.ts'
import { openStores } from '../../src/runtime/open-stores.ts'
import { type JobRecord, type JobStore, storeLimits } from '../../src/runtime/store/job-store.ts'
import { Chronicle } from './chronicle.ts'
import { brokenPromises, type Called, type Deed, type Entry, entriesOf } from './history.ts'
import { HistoryFile } from './history-file.ts'
import { statesOf } from './jobs.ts'
import type { KeyedSubmission, NodePlan, Order } from './node-program.ts'

const program = fileURLToPath(new URL('./node-program.ts', import.meta.url))
// Nodes are started by the dozen, and most of a start is compiling.
const compiled = fileURLToPath(new URL('../../node_modules/.cache/chaos', import.meta.url))

/** Where a scenario's jobs are kept: in a directory of the node, or on servers. */
export interface Place {
  readonly databaseUrl?: string
  readonly redisUrl?: string
}

export type LifePlan = Pick<NodePlan, 'limits' | 'strike' | 'submissions'> & {
  readonly heapMbMax?: number
}

/** A process of a node, seen from outside. */
export interface Life {
  readonly node: string
  /** With the code or the signal it ended by. */
  readonly over: Promise<number | string>
  tell(order: Order): void
  signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void
  /** The first entry of this life for which it holds; rejects when the process ends without one. */
  writes<What extends Deed['what']>(
    what: What,
    holds?: (entry: Entry & { what: What }) => boolean,
  ): Promise<Entry & { what: What }>
  /** Everything is done: it hands back what it holds and goes. */
  stop(): Promise<void>
}

export class Scene {
  readonly #place: Place
  readonly #folder = mkdtempSync(join(tmpdir(), 'decorum-chaos-'))
  readonly #history: HistoryFile
  readonly #own: Chronicle
  readonly #processes = new Set<ChildProcess>()
  readonly #lives = new Map<string, number>()

  constructor(place: Place = {}) {
    this.#place = place
    // The nodes of a scenario may run as another user.
    chmodSync(this.#folder, 0o777)
    this.#history = new HistoryFile(join(this.#folder, 'history.jsonl'))
    this.#own = new Chronicle(this.#history.path, { node: 'scene', life: 1 })
  }

  get history(): readonly Entry[] {
    return this.#history.entries
  }

  dataOf(node: string): string {
    return join(this.#folder, node)
  }

  /** The next life of a node: in the same directory, under the same name. */
  start(node: string, plan: LifePlan = {}): Life {
    const life = (this.#lives.get(node) ?? 0) + 1
    this.#lives.set(node, life)
    const { heapMbMax, ...rest } = plan
    const chronicle = this.#history.path
    const full: NodePlan = {
      node,
      life,
      chronicle,
      data: this.dataOf(node),
      ...this.#place,
      ...rest,
    }
    const child = fork(program, [JSON.stringify(full)], {
      execArgv: heapMbMax === undefined ? [] : [`--max-old-space-size=${heapMbMax}`],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: { ...process.env, NODE_COMPILE_CACHE: compiled },
    })
    this.#processes.add(child)
    let lastWords = ''
    child.stderr?.setEncoding('utf8').on('data', (text) => {
      lastWords = `${lastWords}${text}`.slice(-2_000)
    })
    // An order that finds nobody any more is no news: the history tells what became of the process.
    child.on('error', () => {})
    const over = once(child, 'close').then(([code, signal]) => {
      this.#processes.delete(child)
      return (signal ?? code) as number | string
    })
    const isOwn = (entry: Entry) => entry.node === node && entry.life === life
    const writes: Life['writes'] = async (what, holds = () => true) => {
      const isIt = (entry: Entry): entry is Entry & { what: typeof what } =>
        isOwn(entry) && entry.what === what && holds(entry as Entry & { what: typeof what })
      const found = this.#history.until(isIt)
      const missed = over.then((how) => {
        const last = this.#history.find(isIt)
        if (last) return last
        const failure = this.#history.find(
          (entry): entry is Entry & { what: 'failed' } => isOwn(entry) && entry.what === 'failed',
        )
        const reason = failure?.message ?? lastWords
        throw new Error(`life ${life} of ${node} ended by ${how} before '${what}': ${reason}`)
      })
      return Promise.race([found, missed])
    }
    return {
      node,
      over,
      tell: (order) => void child.send(order, () => {}),
      signal: (name) => void child.kill(name),
      writes,
      async stop() {
        child.send({ order: 'stop' } satisfies Order, () => {})
        await writes('ended')
        await over
      },
    }
  }

  /** Resolves when an entry for which it holds has been written, by whomever. */
  until(holds: (entry: Entry) => boolean): Promise<Entry> {
    return this.#history.until((entry): entry is Entry => holds(entry))
  }

  /** Resolves when the history has this many entries. */
  async untilLength(entries: number): Promise<void> {
    await this.until(() => this.history.length >= entries)
  }

  /** Resolves when nothing is left to do in the store; looks whenever something was written down. */
  async untilDrained(): Promise<void> {
    await this.visit(async (store) => {
      for (;;) {
        const { length } = this.history
        const { live, outbox } = await store.counts()
        if (live.queued + live.scheduled + live.running + outbox === 0) return
        await this.untilLength(length + 1)
      }
    })
  }

  /** Calls of handlers and performers, by job type and state. */
  calls(isMeant: (call: Called) => boolean = () => true): Record<string, number> {
    const calls: Record<string, number> = {}
    for (const call of entriesOf(this.history, 'called').filter(isMeant)) {
      const name = `${call.type} ${call.state}`
      calls[name] = (calls[name] ?? 0) + 1
    }
    return calls
  }

  /** For whoever stands outside: looks at the store, or writes into it. */
  async visit<T>(visitor: (store: JobStore) => Promise<T>, node = 'a'): Promise<T> {
    const data = this.dataOf(node)
    mkdirSync(data, { recursive: true })
    const { leaseMs } = storeLimits
    const stores = await openStores({ data, ...this.#place, clock: systemClock, leaseMs })
    try {
      return await visitor(stores.jobs)
    } finally {
      await stores.close()
    }
  }

  /** Statements of somebody who shares the database, in one transaction. */
  async asStranger(statements: readonly string[]): Promise<void> {
    const script = ['BEGIN', ...statements, 'COMMIT'].join(';\n')
    const { databaseUrl } = this.#place
    if (databaseUrl === undefined) {
      const database = new DatabaseSync(join(this.dataOf('a'), 'decorum.db'), { timeout: 5_000 })
      database.exec(script)
      database.close()
    } else {
      const client = new Client({ connectionString: databaseUrl })
      await client.connect()
      await client.query(`SET search_path = decorum; ${script}`)
      await client.end()
    }
  }

  /** Written down by the scenario itself. */
  note(...deeds: readonly Deed[]): void {
    this.#own.write(...deeds)
  }

  /** Every job there is; whoever broke a promise is named. */
  async verdict(circumstances: { isForgetful?: boolean } = {}): Promise<readonly JobRecord[]> {
    const found = await this.visit(allJobs)
    this.#history.read()
    const problems = brokenPromises(this.history, found, { states: statesOf, ...circumstances })
    expect(problems).toEqual([])
    return found
  }

  /** Copies it to where it outlasts the scene. */
  keepHistory(): string {
    const path = `${this.#folder}.jsonl`
    copyFileSync(this.#history.path, path)
    return path
  }

  async close(): Promise<void> {
    for (const child of this.#processes) child.kill('SIGKILL')
    await Promise.all([...this.#processes].map((child) => once(child, 'close')))
    this.#history.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

async function allJobs(store: JobStore): Promise<JobRecord[]> {
  const jobs: JobRecord[] = []
  let after: string | null = null
  do {
    const page = await store.list({}, { after, jobsMax: 1_000 })
    jobs.push(...page.jobs)
    after = page.next
  } while (after !== null)
  return jobs
}

/** Submissions of one type, with keys made of its name. */
export function several(count: number, type: string, body: unknown = null): KeyedSubmission[] {
  return Array.from({ length: count }, (_, index) => ({ type, body, key: `${type} ${index}` }))
}
