import { describe } from 'vitest'
import { claimingClaims } from './job-store/claiming.ts'
import { closingClaims } from './job-store/closing.ts'
import { deskClaims } from './job-store/desk.ts'
import { holdingBackClaims } from './job-store/holding-back.ts'
import { intakeClaims } from './job-store/intake.ts'
import { nodeClaims } from './job-store/nodes.ts'
import { outboxClaims } from './job-store/outbox.ts'
import { pruningClaims } from './job-store/pruning.ts'
import { randomWalkClaims } from './job-store/random-walk.ts'
import { scheduleClaims } from './job-store/schedules.ts'
import { settlementClaims } from './job-store/settlement.ts'
import { type OpenJobStore, useStage } from './job-store/stage.ts'
import { steeringClaims } from './job-store/steering.ts'
import { taskClaims } from './job-store/tasks.ts'

/** What every job store has to keep, whatever it is made of: src/runtime/store/job-store.ts. */
export function jobStoreContract(name: string, open: OpenJobStore): void {
  describe(`jobs in ${name}`, () => {
    describe('one store', () => {
      const stage = useStage(open)
      intakeClaims(stage)
      claimingClaims(stage)
      holdingBackClaims(stage)
      settlementClaims(stage)
      steeringClaims(stage)
      deskClaims(stage)
      nodeClaims(stage)
      outboxClaims(stage)
      scheduleClaims(stage)
      pruningClaims(stage)
      taskClaims(stage)
      closingClaims(stage)
    })
    randomWalkClaims(open)
  })
}
