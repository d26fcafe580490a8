import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** Documents by their path below a root. */
export type Documents = ReadonlyMap<string, string>

/** Makes the files equal to the documents; what an earlier run left in their folders is removed. */
export async function writeDocuments(root: string, documents: Documents): Promise<void> {
  for (const path of await leftOver(root, documents)) await rm(join(root, path))
  for (const [path, content] of documents) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), content)
  }
}

/** Each file that `writeDocuments` would touch, with the reason. */
export async function driftOf(root: string, documents: Documents): Promise<string[]> {
  const drift: string[] = []
  for (const [path, content] of documents) {
    const found = await contentOf(join(root, path))
    if (found === null) drift.push(`${path} is missing`)
    else if (found !== content) drift.push(`${path} differs`)
  }
  const surplus = await leftOver(root, documents)
  return [...drift, ...surplus.map((path) => `${path} is left over`)]
}

async function leftOver(root: string, documents: Documents): Promise<string[]> {
  const folders = new Set([...documents.keys()].map(dirname))
  const paths: string[] = []
  for (const folder of folders) {
    const entries = await orNull(readdir(join(root, folder), { withFileTypes: true }))
    const files = (entries ?? []).filter((entry) => entry.isFile())
    paths.push(...files.map((file) => `${folder}/${file.name}`).sort())
  }
  return paths.filter((path) => !documents.has(path))
}

function contentOf(path: string): Promise<string | null> {
  return orNull(readFile(path, 'utf8'))
}

/** Null for what does not exist; any other failure stays one. */
async function orNull<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}
