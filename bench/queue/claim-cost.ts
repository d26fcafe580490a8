/** What one claim costs when few and when very many jobs are queued. */
export interface ClaimCost {
  readonly store: string
  readonly msAmong1Thousand: number
  readonly msAmong1Million: number
}

/**
 * TO FILL IN with Decorum's runtime: for each of its stores, the median time of one claim with 1,000
 * and with 1,000,000 jobs queued. The report has its section as soon as this answers with figures.
 */
export async function measureClaimCost(): Promise<readonly ClaimCost[]> {
  return []
}
