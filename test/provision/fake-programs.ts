import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A folder of shell scripts standing in for a machine's programs, until the test ends. */
export function fakePrograms(scripts: Readonly<Record<string, string>>): string {
  const folder = throwAwayFolder()
  for (const [name, script] of Object.entries(scripts)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  }
  return folder
}

/** Open to every user, so that servers which do not run as the caller can work in it too. */
export function throwAwayFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'decorum-test-'))
  chmodSync(folder, 0o777)
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}
