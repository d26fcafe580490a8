import { describe, expect, it } from 'vitest'
import { idsOf, type Stage, settling } from './stage.ts'

export function intakeClaims(stage: Stage): void {
  describe('submitting', () => {
    it('gives a receipt for each job, in their order', async () => {
      const jobs = stage.jobs(3)
      expect(await stage.store.add(jobs)).toEqual(jobs.map(({ id }) => ({ id, isNew: true })))
      expect(await stage.store.add([])).toEqual([])
    })

    it('a job is there as it was submitted', async () => {
      const { runAt, ...job } = stage.job({ key: 'k', priority: -3, domain: '', body: '[1]' })
      await stage.store.add([{ ...job, runAt }])
      expect(await stage.store.get(job.id)).toEqual({
        ...job,
        state: 'queued',
        createdAt: stage.now(),
        runAt: stage.now(),
        attempt: 0,
        crashes: 0,
        fence: 0,
        startedAt: null,
        finishedAt: null,
        nodeId: null,
        isCancelRequested: false,
        result: null,
        progress: null,
        error: null,
        reason: null,
      })
      expect(await stage.store.pastAttempts(job.id)).toEqual([])
    })

    it.each([
      { when: 'an hour ago', byMs: -3_600_000, state: 'queued' },
      { when: 'now', byMs: 0, state: 'queued' },
      { when: 'a millisecond from now', byMs: 1, state: 'scheduled' },
      { when: 'in a year', byMs: 365 * 86_400_000, state: 'scheduled' },
    ])('a job for $when is $state, with that time', async ({ byMs, state }) => {
      const runAt = stage.now() + byMs
      expect(await stage.record(await stage.submit({ runAt }))).toMatchObject({ state, runAt })
    })

    it('a job for a fraction of a millisecond is not early', async () => {
      const runAt = stage.now() + 0.25
      expect((await stage.record(await stage.submit({ runAt }))).runAt).toBe(stage.now() + 1)
    })

    it('all jobs of a batch are accepted or, on an error, none', async () => {
      const [first, second, third] = stage.jobs(3)
      const impossible = { ...second!, body: null as unknown as string }
      await expect(stage.store.add([first!, impossible, third!])).rejects.toThrow()
      expect(await stage.tally()).toEqual({})
      expect(await stage.store.get(first!.id)).toBeUndefined()
    })

    it('an error in one batch does no harm to another of the same moment', async () => {
      const good = stage.job()
      const bad = { ...stage.job(), body: null as unknown as string }
      const answers = await Promise.allSettled([
        stage.store.add([bad]),
        stage.store.add([good]),
        stage.store.add([bad]),
      ])
      expect(answers.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected'])
      expect(await stage.tally()).toEqual({ queued: 1 })
    })

    it('repeating a submission whose answer was lost adds nothing', async () => {
      const jobs = [stage.job(), stage.job({ key: 'k' })]
      await stage.store.add(jobs)
      expect(idsOf(await stage.store.add(jobs))).toEqual(idsOf(jobs))
      expect(await stage.tally()).toEqual({ queued: 2 })
    })

    it('five thousand are accepted at once', async () => {
      const jobs = stage.jobs(5_000)
      expect(idsOf(await stage.store.add(jobs))).toEqual(idsOf(jobs))
      expect(await stage.tally()).toEqual({ queued: 5_000 })
    })
  })

  describe('a key', () => {
    it('names the first job for good: the same key again answers with that job', async () => {
      const first = stage.job({ key: 'k', body: '"first"' })
      const again = stage.job({ key: 'k', body: '"again"', type: 'match', domain: 'b.example' })
      await stage.store.add([first])
      expect(await stage.store.add([again])).toEqual([{ id: first.id, isNew: false }])
      expect(await stage.store.get(again.id)).toBeUndefined()
      expect((await stage.record(first.id)).body).toBe('"first"')
    })

    it('given twice within one batch belongs to the first', async () => {
      const jobs = ['x', 'y', 'x', null, 'x'].map((key) => stage.job({ key }))
      const [x, y, , keyless] = jobs.map(({ id }) => id)
      expect(await stage.store.add(jobs)).toEqual([
        { id: x, isNew: true },
        { id: y, isNew: true },
        { id: x, isNew: false },
        { id: keyless, isNew: true },
        { id: x, isNew: false },
      ])
      expect(await stage.tally()).toEqual({ queued: 3 })
    })

    it('old and new ones mix in a batch', async () => {
      const old = await stage.submit({ key: 'old' })
      const jobs = ['new', 'old', 'newer'].map((key) => stage.job({ key }))
      expect(await stage.store.add(jobs)).toEqual([
        { id: jobs[0]!.id, isNew: true },
        { id: old, isNew: false },
        { id: jobs[2]!.id, isNew: true },
      ])
    })

    it('is still taken when its job has ended', async () => {
      const { node, job } = await stage.running({ key: 'k' })
      await node.settle(settling.done(job))
      expect(await stage.store.add([stage.job({ key: 'k' })])).toEqual([
        { id: job.id, isNew: false },
      ])
    })

    it('submitted twenty times at once makes one job', async () => {
      const batches = Array.from({ length: 20 }, () => stage.jobs(1, { key: 'k' }))
      const receipts = (await Promise.all(batches.map((jobs) => stage.store.add(jobs)))).flat()
      expect(new Set(idsOf(receipts)).size).toBe(1)
      expect(receipts.filter(({ isNew }) => isNew)).toHaveLength(1)
      expect(await stage.tally()).toEqual({ queued: 1 })
    })

    it('is told from every other key, to the letter', async () => {
      const keys = ['k', 'K', ' k', 'k ', 'é', 'e\u0301', '%', '_', "'; --", '🦉', '']
      const receipts = await stage.store.add(keys.map((key) => stage.job({ key })))
      expect(receipts.every(({ isNew }) => isNew)).toBe(true)
    })
  })

  describe('a text', () => {
    it.each([
      ['NUL', 'a\0b'],
      ['half a character', '\ud800 and \udfff'],
      ['an owl', '🦉'],
      ['quotes and backslashes', `"'\\ \\u0041 \\\\`],
      ['line ends of all kinds', 'a\nb\r\nc\u2028d\u2029'],
      ['SQL', `'; DROP TABLE jobs; -- $1 ? :x {a,b}`],
    ])('with %s in it comes back to the letter', async (_, content) => {
      const text = JSON.stringify({ content })
      const { node, job } = await stage.running({ body: text })
      expect(job.body).toBe(text)
      await stage.store.note([{ ...job, progress: text }])
      await node.settle(settling.done(job, text))
      expect(await stage.record(job.id)).toMatchObject({ body: text, progress: text, result: text })
    })

    it.each([
      ['letters', 'x'],
      ['owls', '🦉'],
    ])('of 64 KB of %s comes back whole', async (_, letter) => {
      const room = 65_536 - 2
      const text = JSON.stringify(letter.repeat(room / Buffer.byteLength(letter)))
      const { node, job } = await stage.running({ body: text })
      await node.settle(settling.done(job, text))
      expect(await stage.record(job.id)).toMatchObject({ body: text, result: text })
    })

    it('in any script names a type, a domain and a trace', async () => {
      const named = { type: 'größe 例え', domain: 'xn--例え.テスト', traceId: '"', spanId: '' }
      const id = await stage.submit({ ...named, version: '1.0-β' })
      const node = await stage.enlist()
      expect(await node.takeOne({ types: [named.type] })).toMatchObject({ id, ...named })
      expect(await stage.record(id)).toMatchObject({ ...named, version: '1.0-β' })
    })

    it('of an error may hold what no database takes: the settlement does not fail', async () => {
      const { node, job } = await stage.running()
      const error = { code: 'http.body', message: 'before \0 between \ud800 after' }
      expect(await node.settle(settling.failed(job, error))).toEqual(['settled'])
      const message = (await stage.record(job.id)).error?.message
      expect(message).toMatch(/^before .* between .* after$/s)
    })
  })
}
