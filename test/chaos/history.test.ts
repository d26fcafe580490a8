/** Histories with a lie in each: whoever checks histories has to find it. */
import { describe, expect, it } from 'vitest'
import { brokenPromises, type Deed, type Entry, type Found } from './history.ts'

const states = { steps: ['first', 'second', 'third'] }
const [one, other] = ['job-1', 'job-2']

describe('a true history', () => {
  it('has nothing wrong with it', () => {
    expect(problems(truth(), [found()])).toEqual([])
  })

  it('may have an answer that was lost, and one that came too late', () => {
    const late: Entry[] = [
      ...begun(),
      by('a', claimed(1)),
      by('b', claimed(2)),
      by('b', settling(2, 'done')),
      by('a', settling(1, 'done')),
      by('a', settled(1, 'done', 'lost')),
    ]
    expect(problems(late, [found({ fence: 2 })])).toEqual([])
  })

  it('may have a job that died of its crashes', () => {
    const crashed = [...begun(), by('a', claimed(3))]
    const error = { code: 'job.poison', message: 'It died three times.' }
    expect(problems(crashed, [found({ state: 'dead', fence: 3, error })])).toEqual([])
  })
})

describe('a lie is found', () => {
  it('about a job that was accepted and is gone', () => {
    expect(problems(truth(), [])).toEqual(['job-1 (k) was accepted and is gone'])
  })

  it('about a row of the outbox that came to nothing', () => {
    const posted = [...truth(), by('scene', { what: 'posted', key: 'p' })]
    expect(problems(posted, [found()])).toEqual(['p was posted and no job came of it'])
  })

  it('about one key that was given two jobs', () => {
    const twice = [...truth(), by('a', { what: 'accepted', key: 'k', id: other })]
    expect(problems(twice, [found(), found({ id: other })])).toEqual([
      'k was accepted as job-1 and as job-2',
      'k became more than one job',
      'job-2 is done with fence 1, and nobody settled it so',
    ])
  })

  it('about a job nobody asked for', () => {
    const stranger = found({ id: other, key: 'x', state: 'dead', error: poison })
    expect(problems(truth(), [found(), stranger])).toEqual(['job-2 (x) was asked for by nobody'])
  })

  it('about a job that has not ended', () => {
    expect(problems(truth(), [found({ state: 'running' })])).toEqual(['job-1 is still running'])
  })

  it('about a job that ended twice', () => {
    const twice = [
      ...truth(),
      by('b', claimed(2)),
      by('b', settling(2, 'failed')),
      by('b', settled(2, 'failed')),
    ]
    expect(problems(twice, [found({ state: 'failed', fence: 2 })])).toEqual([
      'job-1 ended twice: done by fence 1, failed by fence 2',
    ])
  })

  it('about a job that was given out after its end', () => {
    const again = [...truth(), by('b', claimed(2))]
    expect(problems(again, [found()])).toContain('job-1: given out with fence 2 after its end')
  })

  it('about an end that is not the one that was committed', () => {
    expect(problems(truth(), [found({ state: 'skipped' })])).toEqual([
      'job-1 ended as done by fence 1 and is found skipped with fence 1',
    ])
  })

  it('about an end that nobody brought about', () => {
    const claimedOnly = [...begun(), by('a', claimed(1))]
    expect(problems(claimedOnly, [found()])).toEqual([
      'job-1 is done with fence 1, and nobody settled it so',
    ])
  })

  it('about an old fence that could still write', () => {
    const stale = [
      ...begun(),
      by('a', claimed(1)),
      by('b', claimed(2)),
      by('a', settling(1, 'requeue')),
      by('a', settled(1, 'requeue')),
      by('b', settling(2, 'done')),
      by('b', settled(2, 'done')),
    ]
    expect(problems(stale, [found({ fence: 2 })])).toEqual([
      'job-1: fence 1 wrote although 2 was given',
    ])
  })

  it('about a fence that was given twice', () => {
    const twice = [...begun(), by('a', claimed(1)), ...truth().slice(2)]
    expect(problems(twice, [found()])).toContain('job-1: a fence was given twice')
  })

  it('about fences that fall', () => {
    const falling = [...begun(), by('a', claimed(2)), ...truth().slice(2)]
    expect(problems(falling, [found()])).toEqual([
      'job-1: its fences do not rise',
      'job-1: its fence fell back to 1',
      'job-1: fence 1 wrote although 2 was given',
      'job-1: given out with fence 2 after its end',
    ])
  })

  it('about one attempt too many', () => {
    expect(problems(truth(), [found({ attempt: 6 })])).toEqual(['job-1: attempt 6 of at most 5'])
    const called = by('a', { ...call('first'), attempt: 6 })
    expect(problems([...truth(), called], [found()])).toEqual(['job-1: attempt 6 of at most 5'])
  })

  it('about a step that was repeated although the next had begun', () => {
    const again = [by('a', call('first')), by('a', call('second')), by('a', call('first'))]
    const history = [...truth(), ...again]
    expect(problems(history, [found()])).toEqual(['job-1: first was performed again after second'])
    expect(brokenPromises(history, [found()], { states, isForgetful: true })).toEqual([])
  })
})

const poison = { code: 'job.poison', message: '' }

function problems(history: readonly Entry[], jobs: readonly Found[]): string[] {
  return brokenPromises(history, jobs, { states })
}

function begun(): Entry[] {
  return [
    by('a', { what: 'submitting', key: 'k' }),
    by('a', { what: 'accepted', key: 'k', id: one }),
  ]
}

function truth(): Entry[] {
  return [
    ...begun(),
    by('a', claimed(1)),
    by('a', settling(1, 'done')),
    by('a', settled(1, 'done')),
  ]
}

function by(node: string, deed: Deed): Entry {
  return { node, life: 1, ...deed }
}

function claimed(fence: number): Deed {
  return { what: 'claimed', id: one, fence, attempt: 1, attemptsMax: 5, crashes: 0 }
}

function call(state: string) {
  const at = { id: one, type: 'steps', attempt: 1, fence: 1, given: null }
  return { what: 'called', state, ...at } as const
}

function settling(fence: number, as: string): Deed {
  return { what: 'settling', id: one, fence, as }
}

function settled(fence: number, as: string, verdict: 'settled' | 'lost' = 'settled'): Deed {
  return { what: 'settled', id: one, fence, as, verdict }
}

function found(differences: Partial<Found> = {}): Found {
  const counts = { attempt: 1, attemptsMax: 5, crashes: 0, fence: 1 }
  return { id: one, key: 'k', state: 'done', error: null, ...counts, ...differences }
}
