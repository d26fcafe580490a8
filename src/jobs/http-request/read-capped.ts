import type { Hash } from 'node:crypto'
import { outcomes } from '../outcome.ts'

export interface ReadCaps {
  readonly keepBytesMax: number
  /** More than this is refused for good: the rest is not read. */
  readonly readBytesMax: number
  readonly hash: Hash
}

export interface CappedBody {
  readonly bytes: number
  readonly kept: Buffer
  readonly digest: string
}

/** Reads a body to its end without holding more of it than is kept. */
export async function readCapped(
  body: ReadableStream<Uint8Array> | null,
  { keepBytesMax, readBytesMax, hash }: ReadCaps,
): Promise<CappedBody> {
  const parts: Uint8Array[] = []
  let bytes = 0
  let keptBytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    if (bytes > readBytesMax)
      throw outcomes.reject({
        code: 'answer.tooLarge',
        message: `The answer is larger than ${readBytesMax} bytes.`,
      })
    hash.update(chunk)
    const part = chunk.subarray(0, keepBytesMax - keptBytes)
    if (part.length > 0) parts.push(part)
    keptBytes += part.length
  }
  return { bytes, kept: Buffer.concat(parts), digest: hash.digest('hex') }
}
