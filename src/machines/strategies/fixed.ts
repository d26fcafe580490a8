/** The configured rate, come what may: for hosts that publish their limit. */

import type { Law } from './law.ts'

export const fixed: Law = {
  heedsLatency: false,
  raised: (pace) => pace,
  lowered: (pace) => pace,
}
