/** `npm run bench -- <name> […]`: prints figures; nothing here is asserted. */
const benches: Readonly<Record<string, () => Promise<{ run(args: string[]): unknown }>>> = {
  actors: () => import('./actors.ts'),
  corpora: () => import('./corpora.ts'),
  queue: () => import('./queue.ts'),
  recovery: () => import('./recovery.ts'),
}

const [name = '', ...args] = process.argv.slice(2)
const load = benches[name]
if (load) await (await load()).run(args)
else {
  console.error(`Name a benchmark: npm run bench -- ${Object.keys(benches).join(' | ')}`)
  process.exitCode = 2
}
