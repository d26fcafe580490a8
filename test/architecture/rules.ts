import { importCycles } from './import-cycles.ts'
import type { Source, Use } from './source.ts'
import type { SourceTree } from './source-tree.ts'

export type Rule = {
  readonly name: string
  readonly reason: string
  forbids(tree: SourceTree): Finding[]
}

export type Finding = { readonly path: string; readonly line: number; readonly what: string }

/** Folder → the folders it may import, besides itself. A folder that is not here has no place yet. */
const layers: Readonly<Record<string, readonly string[]>> = {
  machines: [],
  drawing: ['machines'],
  actors: ['machines'],
  proof: ['actors', 'machines', 'drawing'],
  jobs: ['actors', 'machines'],
  runtime: ['jobs', 'actors', 'machines', 'drawing', 'proof'],
  http: ['runtime', 'jobs', 'actors', 'machines', 'drawing', 'proof'],
  // The command line starts the server; the server knows no command line.
  cli: ['http', 'runtime', 'jobs', 'actors', 'machines', 'drawing', 'proof'],
}

const adapter = 'src/actors/statechart.ts'
const clock = 'src/runtime/clock.ts'
const random = 'src/runtime/random.ts'
const environment = 'src/runtime/environment.ts'

export const rules: readonly Rule[] = [
  {
    name: 'imports point downward: http, cli → runtime → jobs → actors → machines',
    reason: 'what decides must not know what carries out, or it can no longer be proved alone',
    forbids: inSources((source) =>
      source.imports.flatMap(({ line, specifier, target }) => {
        const layer = target && /^src\/([^/]+)\//.exec(target)?.[1]
        if (target === undefined || target === 'package.json') return []
        if (layer === source.layer || (layer && layers[source.layer]?.includes(layer))) return []
        return [{ line, what: `imports ${specifier}` }]
      }),
    ),
  },
  {
    name: 'every file lies in a folder that has a place in the order',
    reason:
      'an unplaced folder would be free of the rules above it; place it in the table of layers',
    forbids: inSources(({ layer }) =>
      layer in layers ? [] : [{ line: 1, what: `lies in ${layer ? `src/${layer}` : 'no folder'}` }],
    ),
  },
  {
    name: 'no imports in a circle, not even of types',
    reason: 'files in a ring can only be read, tested and changed together',
    forbids: ({ sources }) =>
      importCycles(sources).map((ring) => ({
        path: ring[0] ?? '',
        line: 1,
        what: [...ring, ring[0]].join(' → '),
      })),
  },
  {
    name: 'machines and actors use no package but xstate, and nothing of Node',
    reason:
      'they run unchanged in proofs, simulations and browsers: the outside comes through ports',
    forbids: inSources(({ layer, imports }) =>
      layer === 'machines' || layer === 'actors'
        ? imports
            .filter(({ target, specifier }) => target === undefined && specifier !== 'xstate')
            .map(({ line, specifier }) => ({ line, what: `imports ${specifier}` }))
        : [],
    ),
  },
  {
    name: 'xstate/graph is used by proofs alone',
    reason: 'walking every state is a way to examine a machine, never a way to run one',
    forbids: inSources(({ layer, imports }) =>
      layer === 'proof'
        ? []
        : imports
            .filter(({ specifier }) => /^(@xstate|xstate)\/graph$/.test(specifier))
            .map(({ line, specifier }) => ({ line, what: `imports ${specifier}` })),
    ),
  },
  {
    name: `XState's persistence and inspection are used in ${adapter} alone`,
    reason: 'the next major version of XState changes exactly these, and one file can follow it',
    forbids: inSources((source) => {
      if (source.path === adapter) return []
      const knowsXState = source.imports.some(({ specifier }) => specifier === 'xstate')
      return found(source, ({ name, how }) => {
        const last = name.split('.').at(-1)
        return (
          ['xstate.createActor', 'xstate.interpret', 'xstate.Actor'].includes(name) ||
          last === 'getPersistedSnapshot' ||
          name.endsWith('system.inspect') ||
          (knowsXState && last === 'inspect' && how === 'called')
        )
      })
    }),
  },
  {
    name: `the clock is read in ${clock} alone`,
    reason: 'time arrives as an argument, so that a test or a simulation can set it',
    forbids: outside(clock, (use) => {
      if (use.name === 'Date') return readsTheTime(use)
      return isOneOf(use, [
        'Date.now',
        'performance',
        'perf_hooks.performance',
        'process.hrtime',
        'process.uptime',
        'Temporal.Now',
      ])
    }),
  },
  {
    name: `timers are set in ${clock} alone`,
    reason: 'a deadline is data that survives a restart; one place turns deadlines into timers',
    forbids: both(
      outside(clock, (use) =>
        isOneOf(use, [
          'setTimeout',
          'setInterval',
          'setImmediate',
          'queueMicrotask',
          'process.nextTick',
          'AbortSignal.timeout',
        ]),
      ),
      inSources(({ path, imports }) =>
        imports
          .filter(({ specifier }) => path !== clock && /^(node:)?timers(\/|$)/.test(specifier))
          .map(({ line, specifier }) => ({ line, what: `imports ${specifier}` })),
      ),
    ),
  },
  {
    name: `chance is drawn in ${random} alone`,
    reason: 'chance arrives as an argument, so that a run can be repeated from its seed',
    forbids: outside(
      random,
      ({ name }) =>
        name === 'Math.random' ||
        /^(crypto\.|webcrypto\.)+(random\w+|getRandomValues|webcrypto\.getRandomValues)$/.test(
          name,
        ),
    ),
  },
  {
    name: `the environment is read in ${environment} alone`,
    reason: 'configuration is read once, checked, frozen and handed down',
    forbids: outside(environment, (use) => isOneOf(use, ['process.env', 'process.loadEnvFile'])),
  },
  {
    name: 'machines keep deadlines as data: no `after`, no delayed event',
    reason:
      'XState forgets its own timers when a snapshot is restored; `dueAt` in context survives',
    forbids: inMachines((source) => [
      ...source.keys
        .filter(({ name, structured }) => name === 'after' && structured)
        .map(({ line }) => ({ line, what: 'after:' })),
      ...found(
        source,
        ({ name, options }) =>
          /(^|\.)(raise|sendTo|sendParent)$/.test(name) && options.includes('delay'),
      ),
    ]),
  },
  {
    name: 'machines ask for work by emitting commands: no `invoke`, no `spawn`',
    reason: 'then a snapshot is plain data, a restore is exact, and a proof can walk every path',
    forbids: inMachines((source) => [
      ...source.keys
        .filter(({ name, structured }) => name === 'invoke' && structured)
        .map(({ line }) => ({ line, what: 'invoke:' })),
      ...found(source, ({ name }) => /(^|\.)(spawn|spawnChild)$/.test(name)),
    ]),
  },
  {
    name: 'files and folders are named in kebab-case',
    reason: 'a name is typed and searched for; it should have one spelling',
    forbids: ({ paths }) =>
      paths.flatMap((path) => {
        const odd = path.split('/').find((part) => !/^([a-z0-9]+[-.]?)*[a-z0-9]$/.test(part))
        return odd === undefined || odd === 'README.md' ? [] : [{ path, line: 1, what: odd }]
      }),
  },
  {
    name: 'no file or folder is called utils, helpers, types, common or index',
    reason: 'such a name says nothing about what is inside, so everything ends up there',
    forbids: ({ paths }) =>
      paths.flatMap((path) => {
        const empty = /\/(utils?|helpers?|types?|common|index)(?=[./])/.exec(path)?.[1]
        return empty === undefined ? [] : [{ path, line: 1, what: empty }]
      }),
  },
  {
    name: 'every folder of src has a README.md',
    reason: 'the rules of a folder, and their exceptions, are kept beside its code',
    forbids: ({ paths }) =>
      [...new Set(paths.flatMap((path) => /^src\/[^/]+(?=\/)/.exec(path)?.[0] ?? []))]
        .filter((folder) => !paths.includes(`${folder}/README.md`))
        .map((folder) => ({ path: folder, line: 1, what: 'has no README.md' })),
  },
]

type InFile = Omit<Finding, 'path'>

function inSources(forbidden: (source: Source) => InFile[]): Rule['forbids'] {
  return ({ sources }) =>
    sources.flatMap((source) => forbidden(source).map((one) => ({ path: source.path, ...one })))
}

function inMachines(forbidden: (source: Source) => InFile[]): Rule['forbids'] {
  return inSources((source) => (source.layer === 'machines' ? forbidden(source) : []))
}

function outside(home: string, forbidden: (use: Use) => boolean): Rule['forbids'] {
  return inSources((source) => (source.path === home ? [] : found(source, forbidden)))
}

function both(one: Rule['forbids'], other: Rule['forbids']): Rule['forbids'] {
  return (tree) => [...one(tree), ...other(tree)]
}

function found({ uses }: Source, forbidden: (use: Use) => boolean): InFile[] {
  return uses.filter(forbidden).map(({ line, name }) => ({ line, what: name }))
}

/** The name itself or anything inside it: `process.env` and `process.env.HOME`. */
function isOneOf({ name }: Use, names: readonly string[]): boolean {
  return names.some((one) => name === one || name.startsWith(`${one}.`))
}

function readsTheTime({ how, argumentCount }: Use): boolean {
  return how === 'called' || (how === 'constructed' && argumentCount === 0)
}
