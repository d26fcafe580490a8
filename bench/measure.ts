/** Small tools for measuring on a shared, noisy machine. */

/** Seconds of CPU this process used while `work` ran, and wall-clock seconds. */
export async function timed(
  work: () => void | Promise<void>,
): Promise<{ cpuS: number; wallS: number }> {
  const cpu = process.cpuUsage()
  const wall = performance.now()
  await work()
  const used = process.cpuUsage(cpu)
  return { cpuS: (used.user + used.system) / 1e6, wallS: (performance.now() - wall) / 1_000 }
}

/** Times per second, the best of `rounds`: what the code can do when it is left alone. */
export async function bestRate(
  count: number,
  work: () => void | Promise<void>,
  rounds = 5,
): Promise<number> {
  let best = 0
  for (let round = 0; round < rounds; round++) {
    collectGarbage()
    const { wallS } = await timed(work)
    best = Math.max(best, count / wallS)
  }
  return best
}

export function collectGarbage(): void {
  if (!globalThis.gc) throw new Error('Run with --expose-gc (npm run bench does).')
  for (let times = 0; times < 3; times++) globalThis.gc()
}

export function heapBytes(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

export function line(label: string, value: string, note = ''): void {
  console.log(`${label.padEnd(52)} ${value.padStart(14)}  ${note}`)
}

export function perSecond(rate: number): string {
  return `${Math.round(rate).toLocaleString('en')}/s`
}
