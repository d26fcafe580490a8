import { handlerJobMachine } from '../machines/handler-job.ts'
import { breakerSpec } from './breaker-spec.ts'
import { jobProofPolicy, jobSpec } from './job-spec.ts'
import { limiterSpec } from './limiter-spec.ts'
import { processSpec } from './process-spec.ts'
import type { ProofSpec } from './proof-spec.ts'
import { type Proof, prove } from './prove.ts'

/** Every machine of Decorum, with what its proof needs. A machine that is not here is not proved. */
export const proofSpecs: readonly ProofSpec[] = [
  jobSpec(handlerJobMachine(jobProofPolicy), []),
  limiterSpec,
  breakerSpec,
  processSpec,
]

export function proveAll(): readonly Proof[] {
  return proofSpecs.map(prove)
}
