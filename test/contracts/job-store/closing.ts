import { describe, expect, it } from 'vitest'
import { idsOf, type Stage, settling } from './stage.ts'

export function closingClaims(stage: Stage): void {
  describe('closing', () => {
    it('what was answered is there when the store is opened again', async () => {
      const each = await stage.oneOfEach()
      await stage.store.pause({ kind: 'type', name: 'match' })
      const before = await everything(stage.store)
      await stage.store.close()
      const reopened = await stage.opened.reopen()
      expect(await everything(reopened)).toEqual(before)
      expect((await reopened.get(each.running))?.state).toBe('running')
      await reopened.close()
    })

    it('a call that is under way is answered or refused, and what it answered holds', async () => {
      const { node, job } = await stage.running()
      const asked = Promise.allSettled([
        stage.store.add(stage.jobs(2)),
        node.settle(settling.done(job)),
        stage.store.counts(),
      ])
      await stage.store.close()
      const [added, settled] = await asked
      const reopened = await stage.opened.reopen()
      const { live, ended } = await reopened.counts()
      if (added.status === 'fulfilled') expect(live.queued).toBe(2)
      if (settled.status === 'fulfilled') expect(ended.done).toBe(1)
      await reopened.close()
    })

    it('afterwards every call is refused, and closing again is no error', async () => {
      const job = stage.job()
      await stage.store.close()
      await stage.store.close()
      await expect(stage.store.add([job])).rejects.toThrow()
      await expect(stage.store.get(job.id)).rejects.toThrow()
      await expect(stage.store.counts()).rejects.toThrow()
    })
  })

  describe('a hint', () => {
    it('may be listened to and not any more', async () => {
      const stop = stage.store.onHint(() => undefined)
      await stage.submit()
      stop()
      stop()
      await stage.submit()
    })
  })

  async function everything(store: Stage['store']) {
    const { jobs } = await store.list({}, { after: null, jobsMax: 100 })
    expect(idsOf(jobs)).toHaveLength(8)
    return { jobs, counts: await store.counts(), pauses: await store.pauses() }
  }
}
