/**
 * The name under which a host's limiter, breaker and counters are kept.
 *
 * One host has one name, however it is written: lower case, punycode, IP addresses in their
 * shortest form (IPv6 in brackets), no credentials, no trailing dot. Ports 80 and 443 are dropped
 * whatever the scheme, since `http://h`, `https://h` and a bare `h:443` mean the same server and
 * must share its budget; any other port is another server and stays. Naming a name changes nothing.
 *
 * What is not an http or https host has no name: `undefined`.
 */

const defaultPorts: ReadonlySet<string> = new Set(['', '80', '443'])

/** The domain of an absolute http or https URL. */
export function domainOf(url: string | URL): string | undefined {
  const parsed = typeof url === 'string' ? URL.parse(url) : url
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) return undefined
  return nameOf(parsed)
}

/** The domain of a host written alone, with or without a port: `Example.ORG:443`, `[::1]:8080`. */
export function normalizeHost(host: string): string | undefined {
  // Inside a URL these would end the host or be dropped in silence.
  if (/[\t\n\r/\\?#@]/.test(host)) return undefined
  return domainOf(`http://${host}/`)
}

// More than one dot at the end leaves an empty label, which no resolver takes; and dropping them
// all could leave something that reads as an address, such as 0x7f.1.
function nameOf({ hostname, port }: URL): string | undefined {
  const name = hostname.endsWith('.') ? hostname.slice(0, -1) : hostname
  if (name === '' || name.endsWith('.')) return undefined
  return defaultPorts.has(port) ? name : `${name}:${port}`
}
