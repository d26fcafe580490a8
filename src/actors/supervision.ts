/** One actor's restarts: `crashesMax` crashes within `periodMs` are forgiven, one more is not. */
export interface SupervisionPolicy {
  readonly crashesMax: number
  readonly periodMs: number
  readonly delayMs: number
  readonly delayMsMax: number
}

export const SUPERVISION: SupervisionPolicy = {
  crashesMax: 5,
  periodMs: 60_000,
  delayMs: 100,
  delayMsMax: 10_000,
}

export type SupervisionVerdict =
  | { readonly kind: 'restart'; readonly delayMs: number; readonly crashes: readonly number[] }
  | { readonly kind: 'quarantine'; readonly crashes: readonly number[] }

/**
 * Decides after a crash at `at`, given the instants of earlier ones. The first restart is at once:
 * most crashes are one bad event, which is not delivered again. Later ones wait twice as long each
 * time, spread by `roll` over the upper half so that actors that fell together do not rise together.
 */
export function superviseCrash(
  earlier: readonly number[],
  at: number,
  roll: number,
  policy: SupervisionPolicy,
): SupervisionVerdict {
  const crashes = [...earlier.filter((crashedAt) => crashedAt > at - policy.periodMs), at]
  if (crashes.length > policy.crashesMax) return { kind: 'quarantine', crashes }
  if (crashes.length === 1) return { kind: 'restart', delayMs: 0, crashes }
  const ceiling = Math.min(policy.delayMsMax, policy.delayMs * 2 ** (crashes.length - 2))
  return { kind: 'restart', delayMs: ceiling * (0.5 + roll / 2), crashes }
}
