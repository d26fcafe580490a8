import { describe, expect, it } from 'vitest'
import { ConfigurationRefused, configurationFrom } from '../../src/runtime/configuration.ts'

describe('configuration', () => {
  it('needs nothing: an empty environment serves this machine on port 7070', () => {
    expect(configurationFrom({})).toEqual({ host: '127.0.0.1', port: 7070, logLevel: 'warn' })
  })

  it('takes what is set, and leaves other programs their variables', () => {
    const variables = {
      DECORUM_HOST: 'LOCALHOST',
      DECORUM_PORT: '0',
      DECORUM_LOG_LEVEL: 'debug',
      PATH: '/bin',
    }
    expect(configurationFrom(variables)).toEqual({ host: 'localhost', port: 0, logLevel: 'debug' })
  })

  it('treats an empty variable as one that is not set', () => {
    expect(configurationFrom({ DECORUM_PORT: '', DECORUM_HOST: ' ' }).port).toBe(7070)
  })

  it('cannot be changed once it is read', () => {
    expect(Object.isFrozen(configurationFrom({}))).toBe(true)
  })

  it('refuses a name it does not know and lists those it does', () => {
    expect(problemsOf({ DECORUM_PROT: '80' })).toEqual([
      'DECORUM_PROT is not known: remove it or correct its name to DECORUM_HOST, DECORUM_PORT or DECORUM_LOG_LEVEL.',
    ])
  })

  it.each(['65536', '-1', '70.5', '0x50', 'http', '1e3', '007070'])(
    'refuses the port %s',
    (text) => {
      expect(problemsOf({ DECORUM_PORT: text })).toEqual([
        `DECORUM_PORT is "${text}": set it to a whole number from 0 to 65535, where 0 takes any free port.`,
      ])
    },
  )

  it.each(['127.0.0.1', '127.8.9.10', '::1', '0:0:0:0:0:0:0:1', 'localhost'])(
    'serves this machine at %s',
    (host) => {
      expect(configurationFrom({ DECORUM_HOST: host }).host).toBe(host)
    },
  )

  it.each(['0.0.0.0', '::', '192.168.1.4', 'fe80::1', '::101', '127.0.0.1.example', 'example.org'])(
    'does not serve others at %s as long as there are no tokens',
    (host) => {
      const [problem] = problemsOf({ DECORUM_HOST: host })
      expect(problem).toMatch(/^DECORUM_HOST is .*tokens are still to come; set it to 127\.0\.0\.1/)
    },
  )

  it('names all problems at once', () => {
    const variables = { DECORUM_PORT: 'x', DECORUM_LOG_LEVEL: 'loud', DECORUM_TOKEN: 's3cret' }
    const problems = problemsOf(variables)
    expect(problems.map((problem) => problem.split(' ')[0])).toEqual([
      'DECORUM_TOKEN',
      'DECORUM_PORT',
      'DECORUM_LOG_LEVEL',
    ])
    expect(problems.join()).not.toContain('s3cret')
  })
})

function problemsOf(variables: Record<string, string>): readonly string[] {
  try {
    configurationFrom(variables)
  } catch (error) {
    if (error instanceof ConfigurationRefused) return error.problems
    throw error
  }
  return []
}
