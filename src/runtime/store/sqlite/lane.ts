/**
 * The name of a lane: what it holds, so that it can be left out without looking at its jobs. Neither
 * a space nor a mark in a type can make two lanes one.
 */
export interface Lane {
  readonly type: string
  readonly domain: string
  readonly isSuspect: boolean
}

// Suspects sort first, so that a walk from the beginning meets them.
const marks = { suspect: '!', ordinary: '.' } as const
const separator = '\u001f'

export function laneName({ type, domain, isSuspect }: Lane): string {
  return `${isSuspect ? marks.suspect : marks.ordinary}${type}${separator}${domain}`
}

export function readLane(name: string): Lane {
  const end = name.indexOf(separator)
  return {
    type: name.slice(1, end),
    domain: name.slice(end + 1),
    isSuspect: name.startsWith(marks.suspect),
  }
}
