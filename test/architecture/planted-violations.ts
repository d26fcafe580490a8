/**
 * Small sources that break a rule, with the report expected, and close neighbours that do not: the
 * proof that a rule which passes has looked.
 */

type Files = Readonly<Record<string, string>>

type Planted = {
  /** Words from the rule's name. */
  readonly rule: string
  readonly forbidden: readonly { readonly files: Files; readonly report: readonly string[] }[]
  readonly allowed: readonly Files[]
}

export const plantedViolations: readonly Planted[] = [
  {
    rule: 'imports point downward',
    forbidden: [
      breaking('src/machines/job.ts', "import { host } from '../actors/host.ts'", [
        '1 imports ../actors/host.ts',
      ]),
      breaking('src/actors/host.ts', "\nexport type { Store } from '../runtime/store.ts'", [
        '2 imports ../runtime/store.ts',
      ]),
      breaking('src/drawing/svg.ts', "type Host = import('../actors/host.ts').Host", [
        '1 imports ../actors/host.ts',
      ]),
      breaking('src/http/app.ts', "const serve = await import('../cli/serve.ts')", [
        '1 imports ../cli/serve.ts',
      ]),
      breaking('src/jobs/fetch/run.ts', "import '../../runtime/pool.ts'", [
        '1 imports ../../runtime/pool.ts',
      ]),
      breaking('src/runtime/store.ts', "import { fake } from '../../test/fake.ts'", [
        '1 imports ../../test/fake.ts',
      ]),
    ],
    allowed: [
      { 'src/cli/serve.ts': "import { app } from '../http/app.ts'" },
      { 'src/http/app.ts': "import { job } from '../machines/job.ts'" },
      { 'src/proof/prove.ts': "import { chart } from '../actors/statechart.ts'" },
      { 'src/machines/strategies/cubic.ts': "import { pace } from '../pace.ts'" },
      { 'src/runtime/version.ts': "import about from '../../package.json' with { type: 'json' }" },
      {
        'src/machines/job.ts':
          "// import '../actors/host.ts'\nconst text = `import '../http/app.ts'`",
      },
    ],
  },
  {
    rule: 'every file lies in a folder',
    forbidden: [
      breaking('src/tools/draw.ts', '', ['1 lies in src/tools']),
      breaking('src/main.ts', '', ['1 lies in no folder']),
    ],
    allowed: [{ 'src/jobs/fetch/run.ts': '' }],
  },
  {
    rule: 'no imports in a circle',
    forbidden: [
      {
        files: {
          'src/actors/a.ts': "import './b.ts'",
          'src/actors/b.ts': "import type { C } from './c.ts'",
          'src/actors/c.ts': "import './a.ts'",
        },
        report: [
          'src/actors/a.ts:1 src/actors/a.ts → src/actors/b.ts → src/actors/c.ts → src/actors/a.ts',
        ],
      },
      breaking('src/actors/a.ts', "import './a.ts'", ['1 src/actors/a.ts → src/actors/a.ts']),
    ],
    allowed: [
      {
        'src/actors/a.ts': "import './b.ts'\nimport './c.ts'",
        'src/actors/b.ts': "import './c.ts'",
        'src/actors/c.ts': '',
      },
    ],
  },
  {
    rule: 'use no package but xstate',
    forbidden: [
      breaking('src/machines/job.ts', "import { graph } from 'xstate/graph'", [
        '1 imports xstate/graph',
      ]),
      breaking('src/actors/host.ts', "import type { Socket } from 'node:net'", [
        '1 imports node:net',
      ]),
      breaking('src/actors/host.ts', "import 'events'", ['1 imports events']),
    ],
    allowed: [
      { 'src/machines/job.ts': "import { setup } from 'xstate'" },
      { 'src/runtime/store.ts': "import 'node:sqlite'" },
    ],
  },
  {
    rule: 'xstate/graph is used by proofs alone',
    forbidden: [
      breaking('src/runtime/run.ts', "import { getShortestPaths } from '@xstate/graph'", [
        '1 imports @xstate/graph',
      ]),
    ],
    allowed: [{ 'src/proof/walk.ts': "import { getAdjacencyMap } from 'xstate/graph'" }],
  },
  {
    rule: 'persistence and inspection',
    forbidden: [
      breaking('src/actors/host.ts', "import { createActor as start } from 'xstate'", [
        '1 xstate.createActor',
      ]),
      breaking('src/proof/walk.ts', "import * as x from 'xstate'\nx.createActor(machine)", [
        '2 xstate.createActor',
      ]),
      breaking('src/runtime/save.ts', 'save(life().getPersistedSnapshot())', [
        '1 .getPersistedSnapshot',
      ]),
      breaking('src/runtime/watch.ts', 'actor.system.inspect(print)', ['1 actor.system.inspect']),
      breaking('src/proof/walk.ts', "import { setup } from 'xstate'\nroot.inspect(print)", [
        '2 root.inspect',
      ]),
    ],
    allowed: [
      {
        'src/actors/statechart.ts':
          "import { createActor } from 'xstate'\ncreateActor(m).system.inspect(see)",
      },
      { 'src/actors/host.ts': "import type { Actor } from 'xstate'" },
      { 'src/http/inspect.ts': 'host.inspect(kind, key, see)' },
    ],
  },
  {
    rule: 'the clock is read',
    forbidden: [
      breaking('src/actors/a.ts', 'const at = Date.now()', ['1 Date.now']),
      breaking('src/actors/a.ts', 'const read = Date.now', ['1 Date.now']),
      breaking('src/actors/a.ts', 'const { now } = Date', ['1 Date.now']),
      breaking('src/actors/a.ts', 'const at = f(globalThis.Date["now"]())', ['1 Date.now']),
      breaking('src/actors/a.ts', 'const at = new Date()', ['1 Date']),
      breaking('src/http/a.ts', 'performance.now()', ['1 performance.now']),
      breaking('src/http/a.ts', "import { performance as p } from 'node:perf_hooks'", [
        '1 perf_hooks.performance',
      ]),
    ],
    allowed: [
      { 'src/runtime/clock.ts': 'export const now = () => Date.now()' },
      { 'src/machines/a.ts': 'const date = new Date(at); const parsed = Date.parse(text)' },
      {
        'src/machines/a.ts': '/** Date.now() */ const text = "Date.now()"; const re = /new Date()/',
      },
      { 'src/machines/a.ts': 'const at = clock.now(); type At = ReturnType<typeof Date.now>' },
    ],
  },
  {
    rule: 'timers are set',
    forbidden: [
      breaking('src/actors/a.ts', 'setTimeout(wake, 5)', ['1 setTimeout']),
      breaking('src/actors/a.ts', 'const port = { setInterval }', ['1 setInterval']),
      breaking('src/actors/a.ts', 'later(setImmediate)', ['1 setImmediate']),
      breaking('src/actors/a.ts', 'process.nextTick(wake)', ['1 process.nextTick']),
      breaking('src/actors/a.ts', 'queueMicrotask(wake)', ['1 queueMicrotask']),
      breaking('src/runtime/a.ts', 'fetch(url, { signal: AbortSignal.timeout(5) })', [
        '1 AbortSignal.timeout',
      ]),
      breaking('src/runtime/a.ts', "import { setTimeout as sleep } from 'node:timers/promises'", [
        '1 imports node:timers/promises',
      ]),
    ],
    allowed: [
      { 'src/runtime/clock.ts': "import 'node:timers'\nsetTimeout(wake, 5)" },
      { 'src/actors/a.ts': 'clock.setTimeout(wake, 5)' },
      { 'src/actors/a.ts': 'const port = { setTimeout(wake: () => void) { keep(wake) } }' },
    ],
  },
  {
    rule: 'chance is drawn',
    forbidden: [
      breaking('src/machines/a.ts', 'const roll = Math.random()', ['1 Math.random']),
      breaking('src/runtime/a.ts', 'const id = crypto.randomUUID()', ['1 crypto.randomUUID']),
      breaking('src/runtime/a.ts', "import { randomBytes } from 'node:crypto'", [
        '1 crypto.randomBytes',
      ]),
      breaking('src/runtime/a.ts', "import c from 'node:crypto'\nc.getRandomValues(bytes)", [
        '2 crypto.getRandomValues',
      ]),
    ],
    allowed: [
      { 'src/runtime/random.ts': 'export const roll = () => Math.random()' },
      { 'src/runtime/a.ts': "import { createHash } from 'node:crypto'\nMath.max(1, 2)" },
    ],
  },
  {
    rule: 'the environment is read',
    forbidden: [
      breaking('src/http/a.ts', 'listen(process.env.PORT)', ['1 process.env.PORT']),
      breaking('src/http/a.ts', 'const { env } = process', ['1 process.env']),
      breaking('src/http/a.ts', "import { env } from 'node:process'", ['1 process.env']),
      breaking('src/http/a.ts', "import * as own from 'node:process'\nown.env", ['2 process.env']),
    ],
    allowed: [
      { 'src/runtime/environment.ts': 'export const port = process.env.DECORUM_PORT' },
      { 'src/cli/a.ts': 'process.exitCode = 1; const env = options.process.env' },
    ],
  },
  {
    rule: 'no `after`, no delayed event',
    forbidden: [
      breaking('src/machines/a.ts', 'const state = {\n  after: { 1000: "late" },\n}', ['2 after:']),
      breaking('src/machines/a.ts', 'raise({ type: "DUE" }, { delay: 5 })', ['1 raise']),
      breaking('src/machines/a.ts', 'enqueue.sendTo(other, event, { delay })', [
        '1 enqueue.sendTo',
      ]),
    ],
    allowed: [
      { 'src/machines/a.ts': 'const verdict = { retry: true, after: waitMs }' },
      { 'src/machines/a.ts': 'raise({ type: "DUE" })' },
      { 'src/runtime/a.ts': 'const plan = { after: { step: 1 } }' },
    ],
  },
  {
    rule: 'no `invoke`, no `spawn`',
    forbidden: [
      breaking('src/machines/a.ts', 'const state = { invoke: { src: "fetch" } }', ['1 invoke:']),
      breaking('src/machines/a.ts', "import { spawnChild } from 'xstate'", ['1 xstate.spawnChild']),
      breaking('src/machines/a.ts', 'assign(({ spawn }) => ({ child: spawn(logic) }))', [
        '1 spawn',
      ]),
    ],
    allowed: [{ 'src/runtime/a.ts': "import { spawn } from 'node:child_process'\nspawn('ls')" }],
  },
  {
    rule: 'named in kebab-case',
    forbidden: [
      {
        files: { 'src/actors/TimerHeap.ts': '' },
        report: ['src/actors/TimerHeap.ts:1 TimerHeap.ts'],
      },
      { files: { 'src/jobs/my_job/run.ts': '' }, report: ['src/jobs/my_job/run.ts:1 my_job'] },
    ],
    allowed: [
      {
        'src/actors/timer-heap.ts': '',
        'src/actors/README.md': '',
        'src/runtime/claim-14.sql': '',
      },
    ],
  },
  {
    rule: 'no file or folder is called',
    forbidden: [
      { files: { 'src/http/utils.ts': '' }, report: ['src/http/utils.ts:1 utils'] },
      { files: { 'src/jobs/common/run.ts': '' }, report: ['src/jobs/common/run.ts:1 common'] },
      { files: { 'src/machines/index.ts': '' }, report: ['src/machines/index.ts:1 index'] },
    ],
    allowed: [{ 'src/machines/job-types.ts': '', 'src/machines/indexing.ts': '' }],
  },
  {
    rule: 'has a README.md',
    forbidden: [{ files: { 'src/http/app.ts': '' }, report: ['src/http:1 has no README.md'] }],
    allowed: [{ 'src/jobs/README.md': '', 'src/jobs/fetch/run.ts': '' }],
  },
]

/** One file and what is reported of it, each as `line what`. */
function breaking(path: string, text: string, found: readonly string[]) {
  return { files: { [path]: text }, report: found.map((one) => `${path}:${one}`) }
}
