import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeEach, describe, expect, it } from 'vitest'
import { installDebianPackage } from './debian-package.ts'
import { fakePrograms, throwAwayFolder } from './fake-programs.ts'
import { ServerUnavailable } from './server-unavailable.ts'

const run = promisify(execFile)
const script = fileURLToPath(new URL('./install-debian-package.sh', import.meta.url))

describe('permission to install', () => {
  it('needs apt-get', async () => {
    const installed = installDebianPackage('redis-server', { path: [], isRoot: true })
    await expect(installed).rejects.toThrow(ServerUnavailable)
    await expect(installed).rejects.toThrow('there is no apt-get to install it')
  })

  it('needs root or a sudo that asks no password', async () => {
    const path = [fakePrograms({ 'apt-get': 'exit 9', sudo: 'exit 1' })]
    const installed = installDebianPackage('redis-server', { path, isRoot: false })
    await expect(installed).rejects.toThrow(ServerUnavailable)
    await expect(installed).rejects.toThrow('needs root or a sudo that asks no password')
  })

  it('is used through sudo, and a refused installation says why', async () => {
    const sudo = 'if [ "$2" = true ]; then exit 0; fi; echo "E: no such package" >&2; exit 100'
    const path = [fakePrograms({ 'apt-get': 'exit 9', sudo })]
    const installed = installDebianPackage('redis-server', { path, isRoot: false })
    await expect(installed).rejects.toThrow(ServerUnavailable)
    await expect(installed).rejects.toThrow('could not install redis-server: E: no such package')
  })
})

/** Runs the real script on a root folder of its own, where apt-get and dpkg-query only keep a list. */
describe('an installation', () => {
  let root: string
  beforeEach(() => {
    root = throwAwayFolder()
    for (const folder of ['run', 'usr/sbin', 'etc'])
      mkdirSync(join(root, folder), { recursive: true })
  })

  const policy = () => join(root, 'usr/sbin/policy-rc.d')
  const clusterSetting = () => join(root, 'etc/postgresql-common/createcluster.d/decorum.conf')

  it('happens once when several ask at the same time', async () => {
    await Promise.all([install(), install(), install()])
    expect(readFileSync(join(root, 'installed'), 'utf8')).toBe('redis-server\n')
  })

  it('keeps the package from starting a service or a cluster, and takes that back', async () => {
    await install(
      `sh ${policy()} || echo $? > ${root}/answer; cat ${clusterSetting()} >> ${root}/answer`,
    )
    expect(readFileSync(join(root, 'answer'), 'utf8')).toBe('101\ncreate_main_cluster = false\n')
    expect(existsSync(policy())).toBe(false)
    expect(existsSync(clusterSetting())).toBe(false)
  })

  it('takes that back when it fails, too', async () => {
    await expect(install('exit 100')).rejects.toThrow()
    expect(existsSync(policy())).toBe(false)
    expect(existsSync(clusterSetting())).toBe(false)
  })

  it("leaves the machine's own policy as it is", async () => {
    writeFileSync(policy(), 'exit 104')
    await install()
    expect(readFileSync(policy(), 'utf8')).toBe('exit 104')
  })

  function install(whileInstalling = ''): Promise<unknown> {
    const programs = fakePrograms({
      'dpkg-query': `[ -s ${root}/installed ] && echo -n "install ok installed"`,
      'apt-get': `[ "$1" = update ] && exit 0\n${whileInstalling}\necho redis-server >> ${root}/installed`,
    })
    const environment = { ...process.env, PATH: `${programs}:${process.env.PATH}` }
    return run('sh', [script, 'redis-server', root], { env: environment })
  }
})
