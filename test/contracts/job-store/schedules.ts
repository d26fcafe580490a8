import { describe, expect, it } from 'vitest'
import type { FireSchedule, ScheduleCard } from '../../../src/runtime/store/job-store.ts'
import type { Stage } from './stage.ts'

const EVERY_MS = 60_000

export function scheduleClaims(stage: Stage): void {
  const card = (name: string, part: Partial<ScheduleCard> = {}): ScheduleCard => ({
    name,
    cron: '* * * * *',
    timeZone: 'Europe/Berlin',
    type: 'fetch',
    body: `"${name}"`,
    domain: 'a.example',
    priority: 3,
    isPaused: false,
    ...part,
  })

  /** As the runtime will: the key names the instant, and missed instants are not made up for. */
  const everyMinute: FireSchedule = ({ name, type, body, domain, nextAt }, now) => ({
    job: stage.job({ type, body, domain, key: `schedule/${name}/${nextAt}` }),
    nextAt: now + EVERY_MS,
  })

  describe('a schedule', () => {
    it('is there as it was put, until it is removed', async () => {
      const nextAt = stage.now() + 1_000
      await stage.store.putSchedule(card('nightly'), nextAt)
      await stage.store.putSchedule(card('hourly', { isPaused: true }), nextAt + 1)
      const schedules = await stage.store.schedules()
      expect(schedules.toSorted((one, two) => (one.name < two.name ? -1 : 1))).toEqual([
        { ...card('hourly', { isPaused: true }), nextAt: nextAt + 1, lastAt: null },
        { ...card('nightly'), nextAt, lastAt: null },
      ])
      expect(await stage.store.removeSchedule('hourly')).toBe(true)
      expect(await stage.store.removeSchedule('hourly')).toBe(false)
      expect(await stage.store.schedules()).toHaveLength(1)
    })

    it('put again is changed, and still knows when it last ran', async () => {
      const nextAt = stage.now() + 1_000
      await stage.store.putSchedule(card('nightly'), nextAt)
      await stage.advance(1_000)
      await stage.store.fireSchedules(everyMinute)
      const changed = card('nightly', { cron: '0 0 * * *', body: '"changed"', priority: 0 })
      await stage.store.putSchedule(changed, nextAt + 7)
      expect(await stage.store.schedules()).toEqual([
        { ...changed, nextAt: nextAt + 7, lastAt: nextAt },
      ])
    })

    it('submits its job when its time has come, and not before', async () => {
      const nextAt = stage.now() + 1_000
      await stage.store.putSchedule(card('nightly'), nextAt)
      expect(await stage.store.fireSchedules(everyMinute)).toEqual({ fired: 0, nextDueInMs: 1_000 })
      await stage.advance(999)
      expect(await stage.store.fireSchedules(everyMinute)).toEqual({ fired: 0, nextDueInMs: 1 })
      await stage.advance(1)
      const seen: [nextAt: number, now: number][] = []
      const fired = await stage.store.fireSchedules((schedule, now) => {
        seen.push([schedule.nextAt, now])
        return everyMinute(schedule, now)
      })
      expect(fired).toEqual({ fired: 1, nextDueInMs: EVERY_MS })
      expect(seen).toEqual([[nextAt, nextAt]])
      expect((await stage.store.schedules())[0]).toMatchObject({
        nextAt: nextAt + EVERY_MS,
        lastAt: nextAt,
      })
      const node = await stage.enlist()
      expect(await node.takeOne()).toMatchObject({ body: '"nightly"', domain: 'a.example' })
    })

    it('submits each instant once, though several nodes look at once', async () => {
      const nextAt = stage.now() + 1_000
      for (const name of ['a', 'b', 'c']) await stage.store.putSchedule(card(name), nextAt)
      await stage.advance(1_000)
      const answers = await Promise.all(
        [1, 2, 3, 4].map(() => stage.store.fireSchedules(everyMinute)),
      )
      await stage.store.fireSchedules(everyMinute)
      expect(answers.reduce((sum, { fired }) => sum + fired, 0)).toBe(3)
      expect(await stage.tally()).toEqual({ queued: 3 })
      await stage.advance(EVERY_MS)
      await stage.store.fireSchedules(everyMinute)
      expect(await stage.tally()).toEqual({ queued: 6 })
    })

    it('whose instant has its job already submits no second one', async () => {
      const nextAt = stage.now()
      await stage.submit({ key: `schedule/nightly/${nextAt}` })
      await stage.store.putSchedule(card('nightly'), nextAt)
      await stage.store.fireSchedules(everyMinute)
      expect(await stage.tally()).toEqual({ queued: 1 })
      expect((await stage.store.schedules())[0]?.nextAt).toBe(nextAt + EVERY_MS)
    })

    it('that has no job to submit this time moves on all the same', async () => {
      await stage.store.putSchedule(card('nightly'), stage.now())
      const fire = (_: unknown, now: number) => ({ job: null, nextAt: now + EVERY_MS })
      expect(await stage.store.fireSchedules(fire)).toEqual({ fired: 0, nextDueInMs: EVERY_MS })
      expect(await stage.tally()).toEqual({})
      await stage.advance(EVERY_MS)
      expect(await stage.store.fireSchedules(everyMinute)).toMatchObject({ fired: 1 })
    })

    it('that is paused does nothing, and nobody waits for it', async () => {
      await stage.store.putSchedule(card('nightly', { isPaused: true }), stage.now())
      expect(await stage.store.fireSchedules(everyMinute)).toEqual({ fired: 0, nextDueInMs: null })
      expect(await stage.tally()).toEqual({})
    })

    it('that cannot be fired leaves everything as it was', async () => {
      await stage.store.putSchedule(card('nightly'), stage.now())
      const mistake = () => {
        throw new Error('a mistake of ours')
      }
      await expect(stage.store.fireSchedules(mistake)).rejects.toThrow('a mistake of ours')
      expect(await stage.tally()).toEqual({})
      expect(await stage.store.fireSchedules(everyMinute)).toMatchObject({ fired: 1 })
    })

    it('where there is none, nothing is due', async () => {
      expect(await stage.store.fireSchedules(everyMinute)).toEqual({ fired: 0, nextDueInMs: null })
    })
  })

  describe('a turn', () => {
    const take = (nodeId: string, duty = 'sweep') => stage.store.takeTurn(duty, nodeId, 1_000)

    it('is one node at a time, until its time is over', async () => {
      expect(await take('a')).toBe(true)
      expect(await take('b')).toBe(false)
      await stage.advance(999)
      expect(await take('b')).toBe(false)
      await stage.advance(1)
      expect(await take('b')).toBe(true)
      expect(await take('a')).toBe(false)
    })

    it('is kept by the node that takes it again', async () => {
      await take('a')
      await stage.advance(900)
      expect(await take('a')).toBe(true)
      await stage.advance(900)
      expect(await take('b')).toBe(false)
    })

    it('of one duty is not the turn of another', async () => {
      expect(await take('a', 'sweep')).toBe(true)
      expect(await take('b', 'relay')).toBe(true)
    })

    it('goes to one of many that ask at once', async () => {
      const nodes = Array.from({ length: 8 }, (_, index) => `node-${index}`)
      const answers = await Promise.all(nodes.map((node) => take(node)))
      expect(answers.filter(Boolean)).toHaveLength(1)
    })
  })
}
