/**
 * The name of this node, kept in its data directory: a node that starts again under the same name
 * takes back its own jobs at once. The directory's lock sees to it that no two processes share it.
 */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { RandomBytes } from './random.ts'

export async function nodeIdentity(directory: string, bytes: RandomBytes): Promise<string> {
  const path = join(directory, 'node-id')
  const kept = (await readFile(path, 'utf8').catch(() => '')).trim()
  if (/^[\w.-]{1,100}$/.test(kept)) return kept
  const machine = hostname()
    .replaceAll(/[^\w.-]/g, '-')
    .slice(0, 80)
  const name = `${machine}-${Buffer.from(bytes(4)).toString('hex')}`
  // Written beside and moved: a crash must not leave half a name.
  await writeFile(`${path}.new`, `${name}\n`)
  await rename(`${path}.new`, path)
  return name
}
