import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type Service, type ServiceParts, startService } from '../../src/http/service.ts'
import type { AnyJob } from '../../src/jobs/define-job.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Configuration, configurationFrom } from '../../src/runtime/configuration.ts'
import { JobTypes } from '../../src/runtime/job-types.ts'
import { builtInJobs } from '../../src/runtime/load-jobs.ts'
import { plainDrawings, silent } from './test-app.ts'

export interface TestServiceParts extends Partial<Pick<ServiceParts, 'role' | 'drawings' | 'log'>> {
  readonly settings?: Partial<Configuration>
  readonly jobs?: readonly AnyJob[]
}

/** A real service on a port of its own and, unless told otherwise, in a directory of its own. */
export function testService({ settings, jobs = [], ...parts }: TestServiceParts = {}): Service {
  const configuration = { ...configurationFrom({}), port: 0, data: temporaryData(), ...settings }
  const service = startService({
    configuration,
    types: new JobTypes([...builtInJobs, ...jobs]),
    role: 'all',
    clock: systemClock,
    chance: () => 0,
    log: silent,
    drawings: plainDrawings,
    ...parts,
  })
  onTestFinished(() => stopped(service))
  return service
}

export function temporaryData(): string {
  const directory = mkdtempSync(join(tmpdir(), 'decorum-test-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

export async function stopped(service: Service): Promise<void> {
  service.requestStop('the test is over')
  service.requestStop('the test is over')
  await service.ended
}

/** Talks JSON with a service. */
export class Caller {
  readonly #url: string

  constructor(url: string) {
    this.#url = url
  }

  async post(path: string, body?: unknown): Promise<Answer> {
    return answerOf(
      await fetch(`${this.#url}${path}`, {
        method: 'POST',
        ...(body !== undefined && {
          headers: { 'content-type': 'application/json' },
          body: typeof body === 'string' ? body : JSON.stringify(body),
        }),
      }),
    )
  }

  async get(path: string): Promise<Answer> {
    return answerOf(await fetch(`${this.#url}${path}`))
  }

  /** Hands in a job and gives its id. */
  async submit(submission: object): Promise<string> {
    const { status, body } = await this.post('/v1/jobs', submission)
    if (status !== 202) throw new Error(`It was not accepted: ${JSON.stringify(body)}`)
    return String(body.id)
  }

  /** Waits for the job's end, as its events tell of it. */
  async ended(id: string): Promise<Answer['body']> {
    for await (const _event of await this.events(`/v1/jobs/${id}/events`));
    return (await this.get(`/v1/jobs/${id}`)).body
  }

  /** Resolves once the stream has begun. */
  async events(path: string): Promise<AsyncGenerator<StreamedEvent>> {
    const response = await fetch(`${this.#url}${path}`)
    if (!response.ok || !response.body) throw new Error(`${path}: ${await response.text()}`)
    return eventsIn(response.body)
  }
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: what it holds is what the test is about.
  readonly body: any
}

async function answerOf(response: Response): Promise<Answer> {
  return { status: response.status, headers: response.headers, body: await response.json() }
}

export interface StreamedEvent {
  readonly name: string
  // biome-ignore lint/suspicious/noExplicitAny: what it holds is what the test is about.
  readonly data: any
}

async function* eventsIn(stream: ReadableStream<Uint8Array>): AsyncGenerator<StreamedEvent> {
  let text = ''
  for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
    const frames = (text + chunk).split('\n\n')
    text = frames.pop() ?? ''
    for (const frame of frames) {
      const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(frame) ?? []
      if (name && data) yield { name, data: JSON.parse(data) }
    }
  }
}

/** Reads on until an event of that name comes. */
export async function nextEvent(
  events: AsyncGenerator<StreamedEvent>,
  name: string,
): Promise<StreamedEvent> {
  for (;;) {
    const { value, done } = await events.next()
    if (done) throw new Error(`The stream ended without ${name}.`)
    if (value.name === name) return value
  }
}
