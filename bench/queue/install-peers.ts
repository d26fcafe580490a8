import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../peers/', import.meta.url))
const lock = `${folder}package-lock.json`
// npm writes this file last, so an interrupted install is repeated.
const installed = `${folder}node_modules/.package-lock.json`

/** Brings the locked peers into bench/peers when they are missing or older than their lock. */
export function installPeers(): void {
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return
  console.log('Installing the peers (npm ci in bench/peers)…')
  const { status } = spawnSync('npm', ['ci', '--loglevel=error'], {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if (status !== 0) {
    throw new Error('npm ci in bench/peers failed: check the network and the registry, try again.')
  }
}
