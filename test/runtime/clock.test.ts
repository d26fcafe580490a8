import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../src/runtime/clock.ts'

const TIMER_MS_MAX = 2 ** 31 - 1

describe('the system clock', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('follows the monotonic clock: setting the wall clock back or forth does not move it', () => {
    const before = systemClock.now()
    vi.setSystemTime(0)
    expect(systemClock.now()).toBe(before)
    vi.advanceTimersByTime(5)
    vi.setSystemTime(new Date('2100-01-01'))
    expect(systemClock.now()).toBeCloseTo(before + 5, 3)
  })

  it('wakes at the instant, not before', () => {
    const work = vi.fn()
    systemClock.wakeAt(systemClock.now() + 100, work)
    vi.advanceTimersByTime(99)
    expect(work).not.toHaveBeenCalled()
    vi.advanceTimersByTime(2)
    expect(work).toHaveBeenCalledOnce()
  })

  it('an instant that has passed means the next turn, never within the call', () => {
    const work = vi.fn()
    systemClock.wakeAt(systemClock.now() - 1_000, work)
    expect(work).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(work).toHaveBeenCalledOnce()
  })

  it('waits for an instant far beyond 2^31 ms, where a bare timer would fire at once', () => {
    const work = vi.fn()
    const waitMs = 3 * TIMER_MS_MAX + 1_000
    systemClock.wakeAt(systemClock.now() + waitMs, work)
    vi.advanceTimersByTime(waitMs - 2)
    expect(work).not.toHaveBeenCalled()
    vi.advanceTimersByTime(4)
    expect(work).toHaveBeenCalledOnce()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('a cancelled wake does not come, also when it was armed anew on the way', () => {
    const work = vi.fn()
    const near = systemClock.wakeAt(systemClock.now() + 100, work)
    const far = systemClock.wakeAt(systemClock.now() + 2 * TIMER_MS_MAX, work)
    near()
    vi.advanceTimersByTime(TIMER_MS_MAX + 1)
    far()
    expect(vi.getTimerCount()).toBe(0)
    vi.advanceTimersByTime(3 * TIMER_MS_MAX)
    expect(work).not.toHaveBeenCalled()
  })

  it('soon comes after the call, and in order', async () => {
    vi.useRealTimers()
    const seen: string[] = []
    await new Promise<void>((resolve) => {
      systemClock.soon(() => seen.push('first'))
      systemClock.soon(() => {
        seen.push('second')
        resolve()
      })
      seen.push('call')
    })
    expect(seen).toEqual(['call', 'first', 'second'])
  })
})

it('never goes back', () => {
  let last = systemClock.now()
  for (let round = 0; round < 10_000; round++) {
    const now = systemClock.now()
    expect(now).toBeGreaterThanOrEqual(last)
    last = now
  }
})
