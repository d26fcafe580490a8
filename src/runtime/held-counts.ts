import { type ClaimedJob, storeLimits } from './store/job-store.ts'

/** What the jobs held on this node are, as far as the next claim has to know. */
export class HeldCounts {
  readonly domainJobsMax: number
  readonly #perDomain = new Map<string, number>()
  #suspects = 0

  constructor(domainJobsMax: number) {
    this.domainJobsMax = domainJobsMax
  }

  get hasSuspect(): boolean {
    return this.#suspects > 0
  }

  /** Domains of which this node holds as many jobs as it may. */
  get fullDomains(): string[] {
    return [...this.#perDomain]
      .filter(([, jobs]) => jobs >= this.domainJobsMax)
      .map(([name]) => name)
  }

  add(claimed: ClaimedJob): void {
    const { domain } = claimed
    if (isSuspect(claimed)) this.#suspects++
    if (domain !== '') this.#perDomain.set(domain, (this.#perDomain.get(domain) ?? 0) + 1)
  }

  remove(claimed: ClaimedJob): void {
    const { domain } = claimed
    if (isSuspect(claimed)) this.#suspects--
    if (domain === '') return
    const left = (this.#perDomain.get(domain) ?? 1) - 1
    if (left > 0) this.#perDomain.set(domain, left)
    else this.#perDomain.delete(domain)
  }
}

export function isSuspect({ crashes }: ClaimedJob): boolean {
  return crashes >= storeLimits.suspectCrashes
}
