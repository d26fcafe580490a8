/**
 * Decorum beside other queues, on the same machine in the same run.
 * `npm run bench -- queue [--jobs=N] [--rounds=R] [--only=name,name]`
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { line, perSecond } from './measure.ts'
import { measureClaimCost } from './queue/claim-cost.ts'
import { type Contender, contenders } from './queue/contenders.ts'
import { failureOf, type Result } from './queue/figures.ts'
import { installPeers } from './queue/install-peers.ts'
import { queueReport } from './queue/report.ts'
import { type Performance, perform } from './queue/stage.ts'
import { surroundings } from './queue/surroundings.ts'
import type { TrialSize } from './queue/trial.ts'

const reportFile = new URL('../docs/reports/queue.md', import.meta.url)

export async function run(args: string[]): Promise<void> {
  const { size, rounds, chosen, isSubset } = plan(args)
  installPeers()
  const results = await measureAll(chosen, size, rounds)
  const failed = results.filter((result) => failureOf(result) !== undefined)
  const text = queueReport({
    surroundings: await surroundings(),
    size,
    rounds,
    results,
    claimCosts: await measureClaimCost(),
  })
  console.log(`\n${text}`)
  if (isSubset) return
  if (failed.length > 0) {
    // A report with gaps would read as if the missing had been left out on purpose.
    console.error('The report was not written: not every contender could be measured.')
    process.exitCode = 1
    return
  }
  mkdirSync(new URL('./', reportFile), { recursive: true })
  writeFileSync(reportFile, text)
  console.log(`Written to ${fileURLToPath(reportFile)}`)
}

interface Plan {
  readonly size: TrialSize
  readonly rounds: number
  readonly chosen: readonly Contender[]
  /** Asked for by name, so not for the report, even if all of them were named. */
  readonly isSubset: boolean
}

function plan(args: string[]): Plan {
  const { values } = parseArgs({
    args,
    options: {
      jobs: { type: 'string', default: '60000' },
      rounds: { type: 'string', default: '3' },
      only: { type: 'string' },
    },
  })
  const all = contenders.map(({ name }) => name)
  const names = values.only?.split(',') ?? all
  const unknown = names.filter((name) => !all.includes(name))
  if (unknown.length > 0) {
    throw new Error(`No contender is called ${unknown.join(', ')}. There are: ${all.join(', ')}.`)
  }
  return {
    size: { jobs: countFrom('jobs', values.jobs), warmUpJobs: 20_000, singleAdds: 200 },
    rounds: countFrom('rounds', values.rounds),
    chosen: contenders.filter(({ name }) => names.includes(name)),
    isSubset: values.only !== undefined,
  }
}

function countFrom(option: string, text: string): number {
  const count = Number(text)
  if (Number.isInteger(count) && count > 0) return count
  throw new Error(`--${option} takes a whole number above zero, not "${text}".`)
}

/** One at a time, and in another order each round: what wears or warms the machine hits all alike. */
async function measureAll(
  chosen: readonly Contender[],
  size: TrialSize,
  rounds: number,
): Promise<Result[]> {
  const performances = new Map<Contender, Performance[]>(chosen.map((one) => [one, []]))
  for (let round = 0; round < rounds; round++) {
    const first = round % chosen.length
    for (const contender of [...chosen.slice(first), ...chosen.slice(0, first)]) {
      const performance = await perform(contender, size)
      performances.get(contender)?.push(performance)
      show(contender, performance, size)
    }
  }
  return chosen.map((contender) => ({
    contender,
    performances: performances.get(contender) ?? [],
  }))
}

function show({ label }: Contender, performance: Performance, { jobs }: TrialSize): void {
  if (performance.outcome === 'failed') {
    line(label, 'failed', performance.reason)
  } else {
    const { enqueue, process } = performance.trial
    line(label, perSecond(jobs / (enqueue.wallS + process.wallS)), 'enqueued and processed')
  }
}
