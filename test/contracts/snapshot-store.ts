import { beforeEach, describe, expect, it } from 'vitest'
import type {
  Eventually,
  SnapshotStore,
  SnapshotWrite,
  StoredSnapshot,
  WriteVerdict,
} from '../../src/actors/ports.ts'

export interface OpenedStore {
  readonly store: SnapshotStore
  close(): Eventually<void>
}

/** What every snapshot store has to keep, whatever it is made of. */
export function snapshotStoreContract(name: string, open: () => Eventually<OpenedStore>): void {
  describe(`snapshots in ${name}`, () => {
    let opened: OpenedStore
    beforeEach(async () => {
      opened = await open()
      return async () => await opened.close()
    })

    const load = async (...ids: string[]) => await opened.store.load(ids)
    const write = async (...writes: SnapshotWrite[]): Promise<readonly WriteVerdict[]> =>
      await opened.store.write(writes)
    const texts = async (...ids: string[]) => (await load(...ids)).map((stored) => stored?.text)

    describe('loading', () => {
      it('gives back what was saved, field by field', async () => {
        const asleep = snapshot({ id: 'a', dueAt: null })
        const waiting = snapshot({ id: 'b', fence: 7, seq: 1_800_000_000_000, dueAt: 1234.5 })
        await write(save(asleep), save(waiting))
        expect(await load('a', 'b')).toEqual([asleep, waiting])
      })

      it('answers in the order asked, with a gap where nothing is stored', async () => {
        await write(save({ id: 'a', text: 'A' }), save({ id: 'b', text: 'B' }))
        expect(await texts('b', 'none', 'a')).toEqual(['B', undefined, 'A'])
      })

      it('answers an id asked for twice in both places', async () => {
        await write(save({ id: 'a', text: 'A' }))
        expect(await texts('a', 'a')).toEqual(['A', 'A'])
      })

      it('has nothing to say to nobody', async () => {
        expect(await load()).toEqual([])
        expect(await write()).toEqual([])
      })
    })

    describe('saving', () => {
      it('a later write under the same fence replaces an earlier one', async () => {
        await write(save({ seq: 1, text: 'first' }))
        expect(await write(save({ seq: 2, dueAt: 5, text: 'second' }))).toEqual(['written'])
        expect(await load('a')).toEqual([snapshot({ seq: 2, dueAt: 5, text: 'second' })])
      })

      it.each([
        { what: 'the same write again', fence: 2, seq: 5 },
        { what: 'an earlier write', fence: 2, seq: 4 },
        { what: 'an older fence, however late', fence: 1, seq: 1_000 },
      ])('$what is stale and changes nothing', async ({ fence, seq }) => {
        await write(save({ fence: 2, seq: 5, text: 'kept' }))
        expect(await write(save({ fence, seq, text: 'refused' }))).toEqual(['stale'])
        expect(await load('a')).toEqual([snapshot({ fence: 2, seq: 5, text: 'kept' })])
      })

      it('a newer fence wins with any sequence number', async () => {
        await write(save({ fence: 1, seq: 1_000 }))
        expect(await write(save({ fence: 2, seq: 1, text: 'new' }))).toEqual(['written'])
        expect(await texts('a')).toEqual(['new'])
      })
    })

    describe('removing', () => {
      it.each([1, 2, 3])(
        'fence %i removes a snapshot of fence 2 only if not older',
        async (fence) => {
          await write(save({ fence: 2, text: 'it' }))
          expect(await write(remove('a', fence))).toEqual([fence < 2 ? 'stale' : 'written'])
          expect(await texts('a')).toEqual([fence < 2 ? 'it' : undefined])
        },
      )

      it('what is not there is removed already', async () => {
        expect(await write(remove('none', 1))).toEqual(['written'])
      })

      it('leaves the others alone', async () => {
        await write(save({ id: 'a' }), save({ id: 'b', text: 'B' }))
        await write(remove('a', 1))
        expect(await texts('a', 'b')).toEqual([undefined, 'B'])
      })

      it('a removed actor may begin again from any number', async () => {
        await write(save({ fence: 9, seq: 9 }), remove('a', 9))
        expect(await write(save({ fence: 1, seq: 1 }))).toEqual(['written'])
      })
    })

    describe('a group of writes', () => {
      it('each is judged by itself, and a stale one holds up no other', async () => {
        await write(save({ id: 'old', fence: 5 }))
        const verdicts = await write(
          save({ id: 'a', text: 'A' }),
          save({ id: 'old', fence: 4, text: 'refused' }),
          remove('old', 4),
          remove('none', 1),
          save({ id: 'b', text: 'B' }),
        )
        expect(verdicts).toEqual(['written', 'stale', 'stale', 'written', 'written'])
        expect(await texts('a', 'old', 'b')).toEqual(['A', '{}', 'B'])
      })

      it('is applied in its order', async () => {
        const verdicts = await write(
          save({ seq: 1, text: 'one' }),
          save({ seq: 2, text: 'two' }),
          save({ seq: 2, text: 'again' }),
          remove('a', 1),
          save({ seq: 1, text: 'last' }),
        )
        expect(verdicts).toEqual(['written', 'written', 'stale', 'written', 'written'])
        expect(await texts('a')).toEqual(['last'])
      })

      it('ten thousand are written and read at once', async () => {
        const ids = Array.from({ length: 10_000 }, (_, index) => `limiter/host-${index}.example`)
        const verdicts = await write(...ids.map((id) => save({ id, text: id })))
        expect(verdicts.every((verdict) => verdict === 'written')).toBe(true)
        expect(await texts(...ids.toReversed())).toEqual(ids.toReversed())
      })
    })

    it.each([
      ['quotes', `job/"it's"; DROP TABLE snapshots; --`],
      ['other scripts', 'limiter/例え.テスト/שלום/🦉'],
      ['letters that only look alike', 'e\u0301'],
      ['wildcards', 'limiter/%_*?'],
      ['backslashes and line ends', 'a\\u0041\\\n\r\t/b'],
      ['nothing', ''],
      ['the form of a number', '007'],
      ['ten thousand letters', 'x'.repeat(10_000)],
    ])('an id with %s is only itself', async (_, id) => {
      const neighbours = [`${id}x`, id.toUpperCase(), id.normalize('NFC'), '7', 'limiter/abc']
      await write(save({ id, text: 'mine' }))
      expect(await texts(id)).toEqual(['mine'])
      const others = neighbours.filter((other) => other !== id)
      expect(await texts(...others)).toEqual(others.map(() => undefined))
    })

    it('text comes back to the letter', async () => {
      const text = JSON.stringify({ quote: `"'\\`, owl: '🦉', greek: 'Ω≠Ω', line: 'a\nb\u2028c' })
      await write(save({ id: 'small', text }), save({ id: 'large', text: text.repeat(20_000) }))
      expect(await texts('small', 'large')).toEqual([text, text.repeat(20_000)])
    })
  })
}

export function snapshot(part: Partial<StoredSnapshot> = {}): StoredSnapshot {
  return { id: 'a', fence: 1, seq: 1, dueAt: null, text: '{}', ...part }
}

export function save(part: Partial<StoredSnapshot> = {}): SnapshotWrite {
  return { kind: 'save', ...snapshot(part) }
}

export function remove(id: string, fence: number): SnapshotWrite {
  return { kind: 'remove', id, fence }
}
