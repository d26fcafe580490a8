import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { readCapped } from '../../../src/jobs/http-request/read-capped.ts'
import type { JobOutcome } from '../../../src/jobs/outcome.ts'

function bodyOf(chunks: readonly string[]) {
  let isCancelled = false
  const left = [...chunks]
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = left.shift()
      if (chunk === undefined) controller.close()
      else controller.enqueue(Buffer.from(chunk))
    },
    cancel() {
      isCancelled = true
    },
  })
  return { stream, isCancelled: () => isCancelled, left }
}

const read = (
  stream: ReadableStream<Uint8Array> | null,
  keepBytesMax: number,
  readBytesMax = 100,
) => readCapped(stream, { keepBytesMax, readBytesMax, hash: createHash('sha256') })

const digestOf = (text: string) => createHash('sha256').update(text).digest('hex')

it.each([0, 1, 3, 4, 5, 9, 100])('keeps %i bytes at most; the digest is over all', async (max) => {
  const { stream } = bodyOf(['abc', 'def', '', 'ghi'])
  const { bytes, kept, digest } = await read(stream, max)
  expect(bytes).toBe(9)
  expect(kept.toString()).toBe('abcdefghi'.slice(0, max))
  expect(digest).toBe(digestOf('abcdefghi'))
})

it('no body is an empty one', async () => {
  expect(await read(null, 10)).toEqual({ bytes: 0, kept: Buffer.alloc(0), digest: digestOf('') })
})

it('a body that is too large is refused for good, and not read to its end', async () => {
  const { stream, isCancelled, left } = bodyOf(Array(100).fill('x'.repeat(60)))
  const refused = await read(stream, 10).catch((thrown: unknown) => thrown)
  expect((refused as JobOutcome).outcome).toMatchObject({
    kind: 'reject',
    error: { code: 'answer.tooLarge' },
  })
  expect(isCancelled()).toBe(true)
  expect(left.length).toBeGreaterThan(90)
})

it('as large as it may be is not too large', async () => {
  expect((await read(bodyOf(['x'.repeat(100)]).stream, 10)).bytes).toBe(100)
})
