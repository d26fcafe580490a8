import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'

/**
 * The path of the first program of that name. Symbolic links stay: Debian's `redis-server` is one to
 * a program that behaves by the name it is called with.
 */
export function programIn(directories: readonly string[], name: string): string | undefined {
  for (const directory of directories) {
    const file = join(directory, name)
    try {
      accessSync(file, constants.X_OK)
      return file
    } catch {
      // Not here; the next directory may have it.
    }
  }
  return undefined
}
