// `npm test`: every check in the order of its cost; the first that fails stops the run.
import { spawnSync } from 'node:child_process'

const steps = [
  ['format and lint', 'biome', ['ci', '.']],
  ['types', 'tsc', []],
  ['tests, proofs and generated documents', 'vitest', ['run']],
]

for (const [name, command, args] of steps) {
  process.stdout.write(`\n── ${name}\n`)
  const { status } = spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) {
    process.stderr.write(`\n${name}: failed\n`)
    process.exit(status ?? 1)
  }
}
