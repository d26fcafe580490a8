/** What a contract suite looks like on a machine without its server; run by `use-server.test.ts`. */

import { expect, it } from 'vitest'
import { ServerUnavailable } from '../server-unavailable.ts'
import { usePostgres } from '../use-server.ts'

const postgres = usePostgres({
  machine: {
    path: [],
    postgresRoot: '/nowhere',
    install: () => Promise.reject(new ServerUnavailable('this machine has no packages')),
  },
})

it('asks a server that is not there', () => {
  expect(postgres.url).toBe('never read')
})
