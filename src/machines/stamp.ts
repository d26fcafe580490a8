/** What the host puts on every event and input: machines have no clock and no dice of their own. */
export interface Stamp {
  readonly at: number
  /** 0 ≤ roll < 1 */
  readonly roll: number
}
