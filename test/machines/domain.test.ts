import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { domainOf, normalizeHost } from '../../src/machines/domain.ts'

describe('one host has one name, however it is written', () => {
  it.each([
    ['HTTP://Example.ORG/path?query#part', 'example.org'],
    ['https://user:secret@example.org/', 'example.org'],
    ['http://example.org:80/', 'example.org'],
    ['https://example.org:443/', 'example.org'],
    ['https://example.org:80/', 'example.org'],
    ['http://example.org:443/', 'example.org'],
    ['http://example.org:8080/', 'example.org:8080'],
    ['https://example.org./', 'example.org'],
    ['https://example.org.:8443/', 'example.org:8443'],
    ['https://Bücher.example/', 'xn--bcher-kva.example'],
    ['https://日本。example/', 'xn--wgv71a.example'],
    ['http://ex%41mple.org/', 'example.org'],
    ['http://127.1/', '127.0.0.1'],
    ['http://0x7f000001:80/', '127.0.0.1'],
    ['http://127.0.0.1./', '127.0.0.1'],
    ['http://[2001:DB8:0:0:0:0:0:1]:80/', '[2001:db8::1]'],
    ['http://[::1]:8080/', '[::1]:8080'],
    ['http://[::ffff:127.0.0.1]/', '[::ffff:7f00:1]'],
  ])('%s → %s', (url, domain) => {
    expect(domainOf(url)).toBe(domain)
    expect(domainOf(new URL(url))).toBe(domain)
  })

  it.each([
    ['Example.ORG:443', 'example.org'],
    ['example.org:80', 'example.org'],
    ['example.org.', 'example.org'],
    ['example.org:8080', 'example.org:8080'],
    ['[::1]', '[::1]'],
    ['[0:0:0:0:0:0:0:1]:443', '[::1]'],
    ['münchen.example', 'xn--mnchen-3ya.example'],
  ])('a host alone: %s → %s', (host, domain) => {
    expect(normalizeHost(host)).toBe(domain)
  })
})

describe('what is not a host has no name', () => {
  it.each([
    '',
    'example.org',
    '/path',
    'ftp://example.org/',
    'file:///etc/hosts',
    'mailto:someone@example.org',
    'javascript:alert(1)',
    'http://',
    'http://exa mple.org/',
    'http://example.org:99999/',
    'http://[::1',
    'http://[fe80::1%25eth0]/',
    'http://256.256.256.256/',
    'http://./',
    'http://example.org../',
  ])('URL %j', (url) => {
    expect(domainOf(url)).toBeUndefined()
  })

  it.each([
    '',
    ' ',
    '.',
    ':80',
    'example.org/path',
    'example.org?x',
    'example.org#x',
    'user@example.org',
    'exam\nple.org',
    'exam\tple.org',
    'example.org ',
    'example.org\u0001',
    'http://example.org',
    'a\\b',
    '::1',
  ])('host %j', (host) => {
    expect(normalizeHost(host)).toBeUndefined()
  })
})

it('a name is its own name', () => {
  const oddHosts = fc.stringMatching(/^[a-zA-Z0-9.:[\]xéßß。%-]{1,12}$/)
  const hosts = fc.oneof(fc.domain(), fc.ipV4Extended(), fc.ipV6(), oddHosts)
  const ports = fc.constantFrom('', ':80', ':443', ':8080', ':0')
  fc.assert(
    fc.property(fc.constantFrom('http', 'https'), hosts, ports, (scheme, host, port) => {
      const domain = domainOf(`${scheme}://${host}${port}/`)
      fc.pre(domain !== undefined)
      expect(normalizeHost(domain)).toBe(domain)
      expect(domainOf(`https://${domain}/`)).toBe(domain)
    }),
    { numRuns: 2_000 },
  )
})

it('no input makes it throw', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.webUrl()), (text) => {
      domainOf(text)
      normalizeHost(text)
    }),
    { numRuns: 1_000 },
  )
})
