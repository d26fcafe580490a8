import { describe, expect, it } from 'vitest'
import { ConfigurationRefused, configurationFrom } from '../../src/runtime/configuration.ts'

describe('configuration', () => {
  it('needs nothing: an empty environment serves this machine on port 7070', () => {
    expect(configurationFrom({})).toEqual({
      host: '127.0.0.1',
      port: 7070,
      logLevel: 'warn',
      data: 'decorum-data',
      databaseUrl: undefined,
      redisUrl: undefined,
      concurrency: 100,
      jobsFile: undefined,
    })
  })

  it('takes what is set, and leaves other programs their variables', () => {
    const variables = {
      DECORUM_HOST: 'LOCALHOST',
      DECORUM_PORT: '0',
      DECORUM_LOG_LEVEL: 'debug',
      DECORUM_DATA: '/var/lib/decorum',
      DECORUM_CONCURRENCY: '1',
      DECORUM_JOBS: './my-jobs.ts',
      DATABASE_URL: 'postgresql://me:secret@db.example:5432/jobs',
      REDIS_URL: 'rediss://:secret@cache.example',
      PATH: '/bin',
      DATABASE_URI: 'somebody else’s',
    }
    expect(configurationFrom(variables)).toEqual({
      host: 'localhost',
      port: 0,
      logLevel: 'debug',
      data: '/var/lib/decorum',
      concurrency: 1,
      jobsFile: './my-jobs.ts',
      databaseUrl: 'postgresql://me:secret@db.example:5432/jobs',
      redisUrl: 'rediss://:secret@cache.example',
    })
  })

  it('treats an empty variable as one that is not set', () => {
    expect(configurationFrom({ DECORUM_PORT: '', DECORUM_HOST: ' ' }).port).toBe(7070)
  })

  it('cannot be changed once it is read', () => {
    expect(Object.isFrozen(configurationFrom({}))).toBe(true)
  })

  it('refuses a name it does not know and lists those it does', () => {
    expect(problemsOf({ DECORUM_PROT: '80' })).toEqual([
      'DECORUM_PROT is not known: remove it or correct its name to DECORUM_HOST, DECORUM_PORT, DECORUM_LOG_LEVEL, DECORUM_DATA, DECORUM_CONCURRENCY or DECORUM_JOBS.',
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

  it.each(['0', '100001', '-1', '1.5', 'many', '1e3'])(
    'refuses to run %s jobs at a time',
    (text) => {
      expect(problemsOf({ DECORUM_CONCURRENCY: text })).toEqual([
        `DECORUM_CONCURRENCY is "${text}": set it to a whole number from 1 to 100000: the jobs that run at a time.`,
      ])
    },
  )

  it.each([
    ['DATABASE_URL', 'mysql://me:s3cret@db.example/jobs', 'postgres://user:password@host:5432'],
    ['DATABASE_URL', 'me:s3cret@db.example', 'or leave it out to use the embedded database.'],
    ['DATABASE_URL', 'postgres://me:s3cret@db.example:port/jobs', 'postgres://user:password@'],
    ['REDIS_URL', 'http://me:s3cret@cache.example', 'redis://user:password@host:6379/0'],
    ['REDIS_URL', 's3cret', 'or leave it out to do without Redis.'],
  ])(
    'refuses a %s it cannot use without repeating it: it may hold a password',
    (name, url, advice) => {
      const [problem = '', ...more] = problemsOf({ [name]: url })
      expect(more).toEqual([])
      expect(problem).toMatch(new RegExp(`^${name} cannot be used: write it as `))
      expect(problem).toContain(advice)
      expect(problem).not.toContain('s3cret')
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
