import { execFile } from 'node:child_process'
import { readdirSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { Machine } from './machine.ts'
import { programIn } from './program.ts'
import { ServerUnavailable } from './server-unavailable.ts'

const run = promisify(execFile)
const POSTGRES_VERSION_MIN = 14

/** The folder with `postgres`, `initdb` and `psql` of the newest fit version. */
export function postgresBinaries(machine: Machine): Promise<string> {
  return findOrInstall(machine, 'postgresql', async () => {
    const found = await Promise.all((await postgresFolders(machine)).map(postgresVersion))
    return found
      .filter(({ version }) => version >= POSTGRES_VERSION_MIN)
      .sort((one, other) => other.version - one.version)[0]?.folder
  })
}

/** The path of `redis-server`. */
export function redisBinary(machine: Machine): Promise<string> {
  return findOrInstall(machine, 'redis-server', async () => programIn(machine.path, 'redis-server'))
}

async function findOrInstall(
  machine: Machine,
  packageName: string,
  find: () => Promise<string | undefined>,
): Promise<string> {
  const present = await find()
  if (present !== undefined) return present
  await machine.install(packageName)
  const installed = await find()
  if (installed !== undefined) return installed
  throw new ServerUnavailable(`${packageName} was installed, but brought no program fit for use`)
}

async function postgresFolders(machine: Machine): Promise<string[]> {
  const onPath = programIn(machine.path, 'postgres')
  const pgConfig = programIn(machine.path, 'pg_config')
  const configured = pgConfig && (await answer(pgConfig, '--bindir'))
  const folders = [
    onPath && dirname(realpathSync(onPath)),
    configured,
    ...debianFolders(machine.postgresRoot),
  ]
  return [...new Set(folders.filter((folder) => folder !== undefined))].filter((folder) =>
    ['postgres', 'initdb', 'psql'].every((program) => programIn([folder], program)),
  )
}

function debianFolders(root: string): string[] {
  try {
    return readdirSync(root).map((version) => join(root, version, 'bin'))
  } catch {
    return []
  }
}

/** Version 0 stands for a program that does not run, and is fit for nothing. */
async function postgresVersion(folder: string): Promise<{ folder: string; version: number }> {
  const answered = (await answer(join(folder, 'postgres'), '--version')) ?? ''
  return { folder, version: Number(/\(PostgreSQL\) (\d+)/.exec(answered)?.[1] ?? 0) }
}

/** Nothing when the program fails: a broken one among several is passed over. */
function answer(program: string, question: string): Promise<string | undefined> {
  return run(program, [question]).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  )
}
