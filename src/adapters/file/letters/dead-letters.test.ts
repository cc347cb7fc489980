import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { filesBelow, linesOf, withTempFolder } from '../../../../test/support/folder.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { createFactory } from '../../../testing/factories.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { type Damage, fileDeadLetters } from '../index.ts'

const DAY_MS = 86_400_000
const NOON = Date.parse('2026-11-15T12:00:00Z')

function idsOf(letters: readonly DeadLetter[]): string[] {
  return letters.map(({ id }) => id).sort()
}

describe('dead letters in files', () => {
  it('E10: JSON lines in a folder per UTC day, in files that follow each other at a size', async () => {
    await withTempFolder(async dir => {
      const clock = new FakeClock(NOON)
      const make = createFactory({ clock })
      const store = fileDeadLetters({ dir, clock, rotateBytes: 1_500 })
      const letters = Array.from({ length: 5 }, () => make.letter())
      for (const letter of letters.slice(0, 4)) await store.send(letter)
      await clock.advance(DAY_MS)
      await store.send(letters[4]!)
      await store.close()
      const files = await filesBelow(dir, '.jsonl')
      expect(files.map(path => relative(dir, path))).toEqual([
        '2026-11-15/letters-000001.jsonl',
        '2026-11-15/letters-000002.jsonl',
        '2026-11-16/letters-000003.jsonl',
      ])
      const lines = (await Promise.all(files.map(linesOf))).flat().map(line => JSON.parse(line))
      expect(lines.map(({ put }) => put.id)).toEqual(letters.map(({ id }) => id))
    })
  })

  it('E10: a clock that steps back over midnight mixes nothing up', async () => {
    await withTempFolder(async dir => {
      const clock = new FakeClock(NOON)
      const make = createFactory({ clock })
      const store = fileDeadLetters({ dir, clock })
      const letter = make.letter()
      await store.send(letter)
      clock.jump(-DAY_MS)
      await store.change(letter.id, { to: 'discarded', at: NOON })
      await store.close()
      const reopened = fileDeadLetters({ dir, clock })
      expect((await reopened.get(letter.id))?.state).toBe('discarded')
      await reopened.close()
    })
  })

  it('E13: cleaning up removes decided letters past their retention, and what has expired', async () => {
    await withTempFolder(async dir => {
      const clock = new FakeClock(NOON)
      const make = createFactory({ clock })
      const store = fileDeadLetters({ dir, clock, retentionMs: 30 * DAY_MS })
      const [old, touched, dead, expiring] = [
        make.letter(),
        make.letter(),
        make.letter(),
        make.letter({ expiresAt: NOON + DAY_MS }),
      ]
      for (const letter of [old, touched, dead, expiring]) await store.send(letter)
      await store.change(old.id, { to: 'discarded', at: clock.now() })
      expect(await store.cleanup()).toBe(0)
      await clock.advance(DAY_MS)
      expect(await store.cleanup()).toBe(1)
      expect(await store.get(expiring.id)).toBeUndefined()
      await store.change(touched.id, { to: 'discarded', at: clock.now() })
      await clock.advance(29 * DAY_MS)
      const young = make.letter()
      await store.send(young)
      expect(await store.cleanup()).toBe(1)
      expect(idsOf((await store.list()).letters)).toEqual(idsOf([touched, dead, young]))
      expect(await store.cleanup(NOON + 31 * DAY_MS)).toBe(1)
      expect(idsOf((await store.list()).letters)).toEqual(idsOf([dead, young]))
      const told = (await store.audit.list()).entries.map(({ action, detail }) => [
        action,
        detail?.['byState'],
      ])
      expect(told).toEqual([
        ['letters.expire', { discarded: 1 }],
        ['letters.expire', { discarded: 1 }],
        ['letters.expire', { dead: 1 }],
      ])
      await store.close()
    })
  })

  it('E10, E13: by default decided letters go after 30 days, undecided ones never, and a file ends at 10 MB', async () => {
    await withTempFolder(async dir => {
      const clock = new FakeClock(NOON)
      const make = createFactory({ clock })
      const store = fileDeadLetters({ dir, clock })
      const megabyte = 'x'.repeat(999_000)
      const large = Array.from({ length: 11 }, () =>
        make.letter({ event: make.event({ payload: megabyte }) }),
      )
      for (const letter of large.slice(0, 10)) await store.send(letter)
      expect([(await store.usage()).files, (await store.usage()).bytes > 9_990_000]).toEqual([1, true])
      await store.send(make.letter({ event: make.event({ payload: 'x'.repeat(10_000) }) }))
      await store.send(large[10]!)
      expect((await store.usage()).files).toBe(2)
      await store.change(large[0]!.id, { to: 'discarded', at: clock.now() })
      expect(await store.cleanup(NOON + 30 * DAY_MS - 1)).toBe(0)
      expect(await store.cleanup(NOON + 30 * DAY_MS)).toBe(1)
      expect(await store.cleanup(NOON + 10_000 * DAY_MS)).toBe(0)
      expect((await store.stats()).byState).toEqual({ dead: 11 })
      await store.close()
    })
  })

  it('K9: with a retention of never, only what has expired goes', async () => {
    await withTempFolder(async dir => {
      const make = createFactory()
      const store = fileDeadLetters({ dir, retentionMs: 'never' })
      const [kept, expiring] = [make.letter(), make.letter({ expiresAt: NOON })]
      await store.send(kept)
      await store.send(expiring)
      expect(await store.cleanup(NOON + 10_000 * DAY_MS)).toBe(1)
      expect(idsOf((await store.list()).letters)).toEqual([kept.id])
      await store.close()
    })
  })

  it('E10: tells where it is and what it takes up', async () => {
    await withTempFolder(async dir => {
      const store = fileDeadLetters({ dir })
      await store.send(createFactory().letter())
      const [path] = await filesBelow(dir, '.jsonl')
      const bytes = (await readFile(path!)).length
      expect(await store.usage()).toEqual({
        path: dir,
        bytes,
        files: 1,
        damaged: 0,
        damagedFiles: [],
        setAside: [],
      })
      await store.close()
    })
  })

  it('E10: a bit that flips while nobody looks is found when the letter is asked for, and costs only that one', async () => {
    await withTempFolder(async dir => {
      const make = createFactory()
      const letters = Array.from({ length: 6 }, () => make.letter())
      const writer = fileDeadLetters({ dir, rotateBytes: 3_000 })
      for (const letter of letters) await writer.send(letter)
      await writer.close()
      // The first file has an index beside it, so that opening does not read its lines.
      const [path] = await filesBelow(dir, '.jsonl')
      expect(await filesBelow(dir, '.index')).toHaveLength(1)
      const bytes = await readFile(path!)
      bytes[bytes.indexOf('\n') + 100]! ^= 4
      await writeFile(path!, bytes)
      const damage: Damage[] = []
      const store = fileDeadLetters({ dir, onDamage: found => damage.push(found) })
      expect((await store.stats()).count).toBe(6)
      expect(idsOf((await store.list()).letters)).toEqual(idsOf(letters.filter((_, index) => index !== 1)))
      expect(damage).toMatchObject([{ kind: 'checksum', path }])
      expect((await store.stats()).count).toBe(5)
      await store.send(letters[1]!)
      expect(await store.get(letters[1]!.id)).toEqual(letters[1])
      await store.close()
    })
  })

  it('E10: other files in the folder are let be', async () => {
    await withTempFolder(async dir => {
      await mkdir(join(dir, '2026-11-15'))
      await writeFile(join(dir, '2026-11-15', 'notes.txt'), 'mine')
      await writeFile(join(dir, '2026-11-15', 'letters-1.jsonl'), 'mine')
      const store = fileDeadLetters({ dir, clock: new FakeClock(NOON) })
      await store.send(createFactory().letter())
      await store.cleanup(NOON + 1_000 * DAY_MS)
      expect((await store.usage()).damaged).toBe(0)
      await store.close()
      expect(await readFile(join(dir, '2026-11-15', 'notes.txt'), 'utf8')).toBe('mine')
    })
  })

  it('F7: options with faults are refused, all of them at once', () => {
    const wrong = { dir: '', rotateBytes: 0, retentionMs: -1, capacity: 0.5, codec: {} } as never
    expect(() => fileDeadLetters(wrong)).toThrow(/5 faults/)
  })
})
