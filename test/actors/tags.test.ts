import { describe, expect, it } from 'vitest'
import { ActorHost } from '../../src/actors/host.ts'
import { MemorySnapshots } from '../../src/actors/memory-snapshots.ts'
import {
  type Command,
  type Letter,
  type Machine,
  statechartOf,
} from '../../src/actors/statechart.ts'
import { VirtualClock } from '../../src/actors/virtual-clock.ts'
import { breakerMachine } from '../../src/machines/breaker.ts'
import { handlerJobMachine } from '../../src/machines/handler-job.ts'
import { limiterMachine } from '../../src/machines/limiter.ts'
import { rateLimitConfig } from '../../src/machines/rate-limit-config.ts'
import { jobProofPolicy } from '../../src/proof/job-spec.ts'

const config = rateLimitConfig()
const lease = { jobId: 'a', attempt: 1, attemptsMax: 3, fence: 1 }

/** One actor, on a host that may be killed and on a store that stays. */
function staged(machine: Machine, input: object) {
  const clock = new VirtualClock(1_000_000)
  const snapshots = new MemorySnapshots()
  const chart = statechartOf(machine)
  const startHost = () => {
    const host = new ActorHost({ clock, chance: () => 0, snapshots })
    const actors = host.register<Letter, Command>({
      name: 'kind',
      chart: () => chart,
      perform: () => {},
      isDurable: true,
    })
    actors.start('a', { input, fence: 1 })
    clock.settle()
    return {
      tell(event: Letter & Readonly<Record<string, unknown>>) {
        actors.send('a', event)
        clock.settle()
      },
      state: () => actors.peek('a')?.value,
      kill: () => host.halt(),
    }
  }
  return { clock, snapshots, startHost }
}

const throttled = { type: 'FEEDBACK', kind: 'throttled', latencyMs: 5, ends: true }

describe('an urgent state is kept at once', () => {
  it('a Retry-After survives a kill that comes before the next group of writes', () => {
    const { startHost } = staged(limiterMachine(config), {})
    const first = startHost()
    first.tell({ ...throttled, id: 'p', retryAfterMs: 60_000 })
    first.kill()
    expect(startHost().state()).toBe('cooling')
  })

  it('so does a breaker that has just opened', () => {
    const { startHost } = staged(breakerMachine(config), {})
    const first = startHost()
    for (let count = 0; count < config.consecutiveFailThreshold; count++)
      first.tell({ ...throttled, id: `p${count}`, retryAfterMs: null })
    first.kill()
    expect(startHost().state()).toBe('open')
  })

  it('what is not urgent waits for its group', () => {
    const { startHost, snapshots } = staged(limiterMachine(config), {})
    startHost().tell({ type: 'ACQUIRE', id: 'p' })
    expect(snapshots.size).toBe(0)
  })
})

describe('an actor that ends because another goes on', () => {
  it('a job that lost its lease leaves its snapshot to the one that has it now', () => {
    const { startHost, clock, snapshots } = staged(handlerJobMachine(jobProofPolicy), lease)
    const job = startHost()
    job.tell({ type: 'CHECKPOINTED', checkpoint: 7 })
    clock.advance(1_000)
    job.tell({ type: 'LEASE_LOST' })
    clock.advance(1_000)
    expect([job.state(), snapshots.size]).toEqual([undefined, 1])
  })

  it('a job that is done does not', () => {
    const { startHost, clock, snapshots } = staged(handlerJobMachine(jobProofPolicy), lease)
    const job = startHost()
    clock.advance(1_000)
    job.tell({ type: 'CONCLUDED', outcome: { kind: 'done', result: 1 } })
    job.tell({ type: 'SETTLED' })
    clock.advance(1_000)
    expect(snapshots.size).toBe(0)
  })
})
