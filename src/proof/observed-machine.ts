import type { Machine } from '../actors/statechart.ts'

/** The same machine, with every answer of every guard noted. */
export function observedMachine(machine: Machine): {
  readonly machine: Machine
  readonly guards: ReadonlyMap<string, ReadonlySet<boolean>>
} {
  const answers = new Map<string, Set<boolean>>()
  const guards = Object.fromEntries(
    Object.entries(machine.implementations.guards).map(([name, guard]) => {
      const seen = new Set<boolean>()
      answers.set(name, seen)
      const noted = (...args: Parameters<NonNullable<typeof guard>>) => {
        const answer = typeof guard === 'function' && guard(...args)
        seen.add(answer)
        return answer
      }
      return [name, noted]
    }),
  )
  return { machine: machine.provide({ guards }), guards: answers }
}
