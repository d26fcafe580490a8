// Runs before `npm start` and `npm test`, on whatever Node the machine has (20 is enough).
// Installs the locked packages when they are missing or older than the lock file; among them is
// the Node that runs everything after this script: npm puts node_modules/.bin first on the PATH.
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const lock = join(root, 'package-lock.json')
// npm writes this file last, so an interrupted install is repeated.
const installed = join(root, 'node_modules', '.package-lock.json')

if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(lock).mtimeMs) {
  process.stderr.write('Installing what is missing (npm ci)…\n')
  const npm = process.env.npm_execpath
  const [command, args] = npm ? [process.execPath, [npm]] : ['npm', []]
  const result = spawnSync(command, [...args, 'ci', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if (result.status !== 0) {
    process.stderr.write('npm ci failed: check the network and the registry, then try again.\n')
    process.exit(result.status ?? 1)
  }
}
