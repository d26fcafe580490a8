/** `decorum <command>`: finds the command and does what it says. */
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { EXIT_DONE, EXIT_REFUSED } from './exit-codes.ts'

// Before a command is imported: see serve.ts.
enableCompileCache(join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'decorum'))

type Command = (args: readonly string[]) => Promise<number>

const commands: Readonly<Record<string, { summary: string; load(): Promise<Command> }>> = {
  serve: {
    summary: 'run the service until it is stopped',
    load: async () => (await import('./serve-command.ts')).serve,
  },
  doctor: {
    summary: 'look for what is wrong with the configuration, the stores and the jobs file',
    load: async () => (await import('./doctor-command.ts')).doctor,
  },
}

const [name = '--help', ...args] = process.argv.slice(2)
const command = Object.hasOwn(commands, name) ? commands[name] : undefined

if (command) process.exit(await (await command.load())(args))
const usage = [
  'Usage: decorum <command>',
  ...Object.entries(commands).map(([each, { summary }]) => `  ${each.padEnd(8)} ${summary}`),
].join('\n')
if (name === '--help' || name === '-h') console.log(usage)
else console.error(`There is no command '${name}'.\n${usage}`)
process.exitCode = name === '--help' || name === '-h' ? EXIT_DONE : EXIT_REFUSED
