import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { programIn } from './program.ts'
import { ServerUnavailable } from './server-unavailable.ts'

const run = promisify(execFile)
const script = fileURLToPath(new URL('./install-debian-package.sh', import.meta.url))

export type Installer = { readonly path: readonly string[]; readonly isRoot: boolean }

/** Rejects with `ServerUnavailable` where packages cannot, or must not, be installed. */
export async function installDebianPackage(name: string, installer: Installer): Promise<void> {
  const [program, ...args] = [...(await permission(name, installer)), 'sh', script, name]
  await run(program ?? 'sh', args).catch((error) => {
    const lastLines = String(error.stderr).trim().split('\n').slice(-5).join('\n')
    throw new ServerUnavailable(`apt-get could not install ${name}: ${lastLines}`)
  })
}

/** The words to put before a command so that it may install packages. */
async function permission(name: string, { path, isRoot }: Installer): Promise<string[]> {
  if (!programIn(path, 'apt-get')) {
    throw new ServerUnavailable(`${name} is not installed, and there is no apt-get to install it`)
  }
  if (isRoot) return []
  const sudo = programIn(path, 'sudo')
  const allowed = sudo && (await run(sudo, ['-n', 'true']).catch(() => undefined))
  if (allowed) return [sudo, '-n']
  throw new ServerUnavailable(
    `${name} is not installed, and installing it needs root or a sudo that asks no password`,
  )
}
