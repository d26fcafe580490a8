import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SourceFile } from 'typescript/unstable/ast'
import { API } from 'typescript/unstable/async'
import { createVirtualFileSystem } from 'typescript/unstable/fs'
import { readSource, type Source } from './source.ts'

export type SourceTree = {
  /** Every file, of whatever kind, as `src/folder/file`. */
  readonly paths: readonly string[]
  /** What the TypeScript among them says. */
  readonly sources: readonly Source[]
}

/** The tree on disk whose folder `src` lies in `root`. */
export async function readSourceTree(root: string): Promise<SourceTree> {
  const entries = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length).replace(/^\//, ''))
  return sourceTree(
    Object.fromEntries(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')])),
  )
}

/** The same from texts in memory. */
export async function sourceTree(files: Readonly<Record<string, string>>): Promise<SourceTree> {
  const paths = Object.keys(files).sort()
  const parsed = await parse(files)
  return { paths, sources: parsed.map(([path, file]) => readSource(path, file)) }
}

/**
 * The compiler's own parser, so comments, strings and templates cannot be mistaken for code. It
 * sees nothing but these texts: no libraries, no resolution, no types.
 */
async function parse(files: Readonly<Record<string, string>>): Promise<[string, SourceFile][]> {
  const paths = Object.keys(files).filter((path) => path.endsWith('.ts'))
  const settings = { files: paths, compilerOptions: { noLib: true, noResolve: true, types: [] } }
  const texts = Object.fromEntries(paths.map((path) => [`/${path}`, files[path] ?? '']))
  const api = new API({
    cwd: '/',
    fs: createVirtualFileSystem({ ...texts, '/tsconfig.json': JSON.stringify(settings) }),
  })
  try {
    const snapshot = await api.updateSnapshot({ openProjects: ['/tsconfig.json'] })
    const program = snapshot.getProjects()[0]?.program
    const parsed = paths.map(async (path): Promise<[string, SourceFile]> => {
      const [broken] = (await program?.getSyntacticDiagnostics(`/${path}`)) ?? []
      const file = await program?.getSourceFile(`/${path}`)
      if (broken || !file) throw new Error(`${path} cannot be read: ${broken?.text ?? 'missing'}`)
      return [path, file]
    })
    return await Promise.all(parsed)
  } finally {
    await api.close()
  }
}
