/** Lanes that nobody may claim from. Read with every claim: a pause holds from the next one on. */
import type { DatabaseSync } from 'node:sqlite'
import type { PauseScope } from '../job-store.ts'

export function pauseStatement(database: DatabaseSync): (scope: PauseScope) => void {
  const insert = database.prepare('INSERT INTO pauses (scope) VALUES (?) ON CONFLICT DO NOTHING')
  return (scope) => void insert.run(scopeName(scope))
}

export function resumeStatement(database: DatabaseSync): (scope: PauseScope) => void {
  const remove = database.prepare('DELETE FROM pauses WHERE scope = ?')
  return (scope) => void remove.run(scopeName(scope))
}

export function pausesStatement(database: DatabaseSync): () => readonly PauseScope[] {
  const select = database.prepare('SELECT scope FROM pauses ORDER BY scope')
  return () => select.all().map(({ scope }) => readScope(String(scope)))
}

function scopeName(scope: PauseScope): string {
  return scope.kind === 'all' ? '*' : `${scope.kind}:${scope.name}`
}

function readScope(text: string): PauseScope {
  if (text === '*') return { kind: 'all' }
  const end = text.indexOf(':')
  return { kind: text.slice(0, end) as 'type' | 'domain', name: text.slice(end + 1) }
}
