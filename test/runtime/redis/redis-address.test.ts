import { describe, expect, it } from 'vitest'
import { redisAddress } from '../../../src/runtime/redis/redis-address.ts'

describe('the address of Redis', () => {
  it('is read in all its parts', () => {
    expect(redisAddress('rediss://me:p%40ss%2Fword@[::1]:7000/3')).toEqual({
      host: '::1',
      port: 7_000,
      database: 3,
      username: 'me',
      password: 'p@ss/word',
      isEncrypted: true,
      name: 'rediss://[::1]:7000/3',
    })
  })

  it('needs nothing but a host', () => {
    expect(redisAddress('redis://cache.example')).toMatchObject({
      ...{ host: 'cache.example', port: 6_379, database: 0, username: '', password: '' },
      ...{ isEncrypted: false, name: 'redis://cache.example:6379/0' },
    })
  })

  it.each([
    ['', 'it is not a URL'],
    ['127.0.0.1:6379', 'it is not a URL'],
    ['redis://127.0.0.1:99999', 'it is not a URL'],
    ['localhost:6379', "it begins with 'localhost:'"],
    ['http://127.0.0.1:6379', "it begins with 'http:'"],
    ['redis://', 'it names no host'],
    ['redis:///tmp/redis.sock', 'it names no host'],
    ['redis://127.0.0.1/jobs', 'it names a database that is not a number'],
    ['redis://127.0.0.1/0?commandTimeout=0', "it goes on after the database with '?'"],
    ['redis://me:100%@127.0.0.1', "has a '%' in its user or password"],
  ])("'%s' is refused at once, with what to write instead", (address, why) => {
    expect(() => redisAddress(address)).toThrow(why)
    expect(() => redisAddress(address)).toThrow('Write it as redis://')
  })

  it('that is refused is not repeated, because of the password in it', () => {
    expect(() => redisAddress('http://me:secret@127.0.0.1')).toThrow(/^(?!.*secret)/)
  })
})
