/**
 * Calls to other people's servers: says who is calling, and leaves a server alone for as long as its
 * Retry-After asks. A job that wants to call such a server is parked until then, which costs it no
 * attempt, and jobs for it stay in the queue.
 */
import type { Clock } from '../actors/ports.ts'
import { outcomes } from '../jobs/outcome.ts'
import { domainOf } from '../machines/domain.ts'
import { retryAfterMs } from '../machines/retry-after.ts'
import { version } from './version.ts'

export interface PoliteFetch {
  readonly fetch: typeof globalThis.fetch
  /** Domains that are to be left alone now. */
  restingDomains(): readonly string[]
}

/** Domains remembered at a time; the longest known go first. */
const RESTING_MAX = 10_000

export function simpleFetch(
  clock: Pick<Clock, 'now'>,
  network: typeof globalThis.fetch = globalThis.fetch,
): PoliteFetch {
  const notBefore = new Map<string, number>()
  const userAgent = `${version.name}/${version.version}`

  /** Answers may come out of order: the longest wish stands. */
  function rest(domain: string, wish: number): void {
    const until = Math.max(wish, notBefore.get(domain) ?? 0)
    notBefore.delete(domain)
    notBefore.set(domain, until)
    const [oldest] = notBefore.keys()
    if (notBefore.size > RESTING_MAX && oldest !== undefined) notBefore.delete(oldest)
  }

  return {
    async fetch(input, init) {
      const request = new Request(input, init)
      const domain = domainOf(request.url) ?? ''
      const until = notBefore.get(domain) ?? 0
      if (until > clock.now())
        throw outcomes.wait(until, `${domain} has asked to be left alone until then.`)
      if (!request.headers.has('user-agent')) request.headers.set('user-agent', userAgent)
      const response = await network(request)
      if (response.status === 429 || response.status === 503) {
        const waitMs = retryAfterMs(response.headers.get('retry-after') ?? undefined, {
          date: response.headers.get('date') ?? undefined,
          at: clock.now(),
        })
        // The one that was redirected to has asked; the one that leads there would lead there again.
        if (waitMs)
          for (const each of new Set([domain, domainOf(response.url) ?? domain]))
            rest(each, clock.now() + waitMs)
      }
      return response
    },
    restingDomains() {
      const at = clock.now()
      for (const [domain, until] of notBefore) if (until <= at) notBefore.delete(domain)
      return [...notBefore.keys()]
    },
  }
}
