import { describe, expect, it } from 'vitest'
import type { OutboxRow, ReadOutboxRow } from '../../../src/runtime/store/job-store.ts'
import type { OutboxDraft, Stage } from './stage.ts'

/** As the runtime will: what the row leaves open gets a default. */
export function readerFor(stage: Stage): ReadOutboxRow {
  return ({ type, body, key, domain, priority, runAt, attemptsMax, taskId }) =>
    stage.job({
      type,
      body,
      key,
      domain: domain ?? '',
      priority: priority ?? 0,
      runAt,
      attemptsMax: attemptsMax ?? 5,
      taskId,
    })
}

export function outboxClaims(stage: Stage): void {
  const rows = (count: number): OutboxDraft[] =>
    Array.from({ length: count }, (_, index) => ({ type: 'fetch', body: String(index) }))

  async function bodies(): Promise<string[]> {
    const { jobs } = await stage.store.list({}, { after: null, jobsMax: 5_000 })
    return jobs.map(({ body }) => body).toReversed()
  }

  describe('the outbox', () => {
    it('has its rows read as they were written, whatever was left out', async () => {
      const full: Required<OutboxDraft> = {
        type: 'match',
        body: '{"a":"🦉"}',
        key: 'k',
        domain: 'a.example',
        priority: -2,
        runAt: stage.now() + 500,
        attemptsMax: 3,
        taskId: 'task-1',
      }
      await stage.opened.writeOutbox([{ type: 'fetch', body: '[]' }, full])
      const seen: OutboxRow[] = []
      await stage.store.relay(10, (row) => {
        seen.push(row)
        return { refusal: 'only looking' }
      })
      const empty = { key: null, domain: null, runAt: null, attemptsMax: null, taskId: null }
      expect(seen).toMatchObject([{ ...empty, type: 'fetch', body: '[]' }, full])
      expect(seen.every(({ id }) => Number.isInteger(id))).toBe(true)
    })

    it('becomes jobs, a thousand at a time, in its order, each once', async () => {
      await stage.opened.writeOutbox(rows(2_500))
      const read = readerFor(stage)
      const moved: number[] = []
      for (let turn = 0; turn < 4; turn++) {
        const relayed = await stage.store.relay(1_000, read)
        expect(relayed.refused).toBe(0)
        moved.push(relayed.moved)
      }
      expect(moved).toEqual([1_000, 1_000, 500, 0])
      expect(await bodies()).toEqual(rows(2_500).map(({ body }) => body))
      expect(await stage.store.counts()).toMatchObject({ outbox: 0, live: { queued: 2_500 } })
    })

    it('is moved once by several nodes at once', async () => {
      await stage.opened.writeOutbox(rows(300))
      const read = readerFor(stage)
      const turns = await Promise.all([1, 2, 3, 4].map(() => stage.store.relay(100, read)))
      const rest = await stage.store.relay(1_000, read)
      expect([...turns, rest].reduce((sum, { moved }) => sum + moved, 0)).toBe(300)
      expect((await bodies()).toSorted()).toEqual(
        rows(300)
          .map(({ body }) => body)
          .toSorted(),
      )
    })

    it('respects when a row wants to run', async () => {
      await stage.opened.writeOutbox([{ type: 'fetch', body: '1', runAt: stage.now() + 1_000 }])
      await stage.store.relay(10, readerFor(stage))
      expect(await stage.tally()).toEqual({ scheduled: 1 })
    })

    it('keeps a refused row and does not try it again; the others move', async () => {
      await stage.opened.writeOutbox(rows(3))
      let asked = 0
      const read: ReadOutboxRow = (row) => {
        asked++
        return row.body === '1' ? { refusal: 'there is no such type' } : readerFor(stage)(row)
      }
      expect(await stage.store.relay(10, read)).toEqual({ moved: 2, refused: 1 })
      expect(await stage.store.relay(10, read)).toEqual({ moved: 0, refused: 0 })
      expect(asked).toBe(3)
      expect(await stage.opened.refusals()).toEqual(['there is no such type'])
      expect((await stage.store.counts()).outbox).toBe(0)
      expect(await bodies()).toEqual(['0', '2'])
    })

    it('refused rows do not stand in the way of later ones', async () => {
      await stage.opened.writeOutbox(rows(10))
      await stage.store.relay(10, () => ({ refusal: 'no' }))
      await stage.opened.writeOutbox([{ type: 'fetch', body: '"late"' }])
      expect(await stage.store.relay(5, readerFor(stage))).toEqual({ moved: 1, refused: 0 })
    })

    it('a row whose key has a job already goes, and the first job stands', async () => {
      const first = await stage.submit({ key: 'k', body: '"first"' })
      await stage.opened.writeOutbox([
        { type: 'fetch', body: '"second"', key: 'k' },
        { type: 'fetch', body: '"x"', key: 'x' },
        { type: 'fetch', body: '"x again"', key: 'x' },
      ])
      expect(await stage.store.relay(10, readerFor(stage))).toEqual({ moved: 3, refused: 0 })
      expect((await stage.record(first)).body).toBe('"first"')
      expect(await bodies()).toEqual(['"first"', '"x"'])
      expect((await stage.store.counts()).outbox).toBe(0)
    })

    it('loses nothing to a reader that throws', async () => {
      await stage.opened.writeOutbox(rows(3))
      const read: ReadOutboxRow = (row) => {
        if (row.body === '1') throw new Error('a mistake of ours')
        return readerFor(stage)(row)
      }
      await expect(stage.store.relay(10, read)).rejects.toThrow('a mistake of ours')
      expect(await stage.tally()).toEqual({})
      expect(await stage.store.relay(10, readerFor(stage))).toEqual({ moved: 3, refused: 0 })
    })
  })
}
