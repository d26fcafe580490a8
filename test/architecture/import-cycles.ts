import type { Source } from './source.ts'

/**
 * Rings of files that import one another, each from its first file in the alphabet on: at least one
 * for every knot, and none where there is none. Imports of types count: two files that cannot be
 * understood apart are one file, or have a third below them.
 */
export function importCycles(sources: readonly Source[]): string[][] {
  const importedBy = new Map(sources.map((source) => [source.path, source.imports]))
  const cycles = new Map<string, string[]>()
  const finished = new Set<string>()
  for (const { path } of sources) follow(path, [])
  return [...cycles.values()]

  function follow(path: string, trail: readonly string[]): void {
    if (trail.includes(path)) remember(trail.slice(trail.indexOf(path)))
    if (trail.includes(path) || finished.has(path)) return
    for (const { target } of importedBy.get(path) ?? []) {
      if (target !== undefined && importedBy.has(target)) follow(target, [...trail, path])
    }
    finished.add(path)
  }

  function remember(ring: readonly string[]): void {
    const first = ring.indexOf([...ring].sort()[0] ?? '')
    const turned = [...ring.slice(first), ...ring.slice(0, first)]
    cycles.set(turned.join(), turned)
  }
}
