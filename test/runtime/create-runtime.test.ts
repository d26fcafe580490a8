import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { AnyJob } from '../../src/jobs/define-job.ts'
import { createRuntime, type OwnRuntime } from '../../src/runtime/create-runtime.ts'
import { JobTypesRefused } from '../../src/runtime/job-types.ts'
import { StoreRefused } from '../../src/runtime/store/job-store.ts'

let data = ''
beforeEach(async () => {
  data = await mkdtemp(join(tmpdir(), 'decorum-runtime-'))
})
afterEach(() => rm(data, { recursive: true, force: true }))

const hello: AnyJob = {
  type: 'hello',
  version: '1',
  run: ({ body }) => `Hello, ${(body as { name: string }).name}!`,
}

function settled(runtime: OwnRuntime): Promise<{ id: string; as: string }> {
  return new Promise((resolve) => runtime.on('job.settled', resolve))
}

it('runs jobs out of a directory, and keeps them for the next process', async () => {
  const first = await createRuntime({ data, jobs: [hello] })
  const { id } = await first.submit({ type: 'hello', body: { name: 'world' } })
  await first.stop()
  const second = await createRuntime({ data, jobs: [hello] })
  expect(second.nodeId).toBe(first.nodeId)
  const ended = settled(second)
  await second.start()
  expect(await ended).toMatchObject({ id, as: 'done' })
  expect((await second.get(id))?.result).toBe('Hello, world!')
  expect(second.types.names).toContain('http.request')
  await second.stop()
})

it('two at a time in one directory are one too many', async () => {
  const first = await createRuntime({ data })
  await expect(createRuntime({ data })).rejects.toThrow(StoreRefused)
  await first.stop()
  await (await createRuntime({ data })).stop()
})

it('a wrong definition leaves the directory free', async () => {
  const jobs = [{ type: 'hello' } as AnyJob]
  await expect(createRuntime({ data, jobs })).rejects.toThrow(JobTypesRefused)
  await (await createRuntime({ data })).stop()
})

it('what does not finish in its time of grace is handed back', async () => {
  const job: AnyJob = {
    type: 'endless',
    version: '1',
    run: ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', reject)),
  }
  const runtime = await createRuntime({ data, jobs: [job] })
  const started = new Promise((resolve) => runtime.on('job.started', resolve))
  const parked = settled(runtime)
  await runtime.start()
  const { id } = await runtime.submit({ type: 'endless' })
  await started
  await runtime.stop({ graceMs: 0 })
  expect(await parked).toMatchObject({ id, as: 'parked' })
  const next = await createRuntime({ data, jobs: [job] })
  expect(await next.get(id)).toMatchObject({ state: 'queued' })
  await next.stop()
})
