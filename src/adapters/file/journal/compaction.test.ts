import { rm, writeFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { failingFiles } from '../../../../test/support/failing-files.ts'
import { filesBelow, withTempFolder } from '../../../../test/support/folder.ts'
import { encodeLetter } from '../../../core/dead-letter/json.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { resolveOptions } from '../../../core/options/resolve.ts'
import { createFactory } from '../../../testing/factories.ts'
import { seededRandom } from '../../../testing/seeded-random.ts'
import { fileDeadLetters, fileSpill } from '../index.ts'
import { deadLetterRules, FileDeadLetters } from '../letters/dead-letters.ts'

const ROTATE_BYTES = 5_000

async function all(store: FileDeadLetters): Promise<string[]> {
  const { letters } = await store.list({ limit: 1_000 })
  return letters.map(encodeLetter).sort()
}

describe('rewriting files without what no longer counts', () => {
  it('E10: on a full disk leaves nothing behind that takes the last room, and says what to do', async () => {
    await withTempFolder(async dir => {
      let isFull = false
      const files = failingFiles((call, path) =>
        isFull && call === 'write' && path.endsWith('.tmp') ? 'ENOSPC' : undefined,
      )
      const options = resolveOptions('test', deadLetterRules, { dir, rotateBytes: ROTATE_BYTES })
      const store = new FileDeadLetters(options, files)
      const make = createFactory()
      const letters = Array.from({ length: 12 }, () => make.letter())
      for (const letter of letters) await store.send(letter)
      isFull = true
      for (const letter of letters.filter((_, index) => index % 3 !== 0)) await store.delete(letter.id)
      const expected = { code: 'LAZARET_STORE_FAILED', message: expect.stringContaining('free disk space') }
      await expect(store.cleanup(0)).rejects.toMatchObject(expected)
      expect(await filesBelow(dir, '.tmp')).toEqual([])
      await store.close()
    })
  })

  it('E10: a process that stood still in a rewrite leaves the files to the one that replaced it', async () => {
    await withTempFolder(async dir => {
      const stopped = Promise.withResolvers<void>()
      const goOn = Promise.withResolvers<undefined>()
      const files = failingFiles((call, path) => {
        if (call !== 'open' || !path.endsWith('.jsonl.tmp')) return undefined
        stopped.resolve()
        return goOn.promise
      })
      const options = resolveOptions('test', deadLetterRules, { dir, rotateBytes: ROTATE_BYTES })
      const frozen = new FileDeadLetters(options, files)
      const make = createFactory()
      const letters = Array.from({ length: 40 }, () => make.letter())
      for (const letter of letters) await frozen.send(letter)
      const other = fileDeadLetters({ dir, rotateBytes: ROTATE_BYTES })
      // Few enough that the deletions close no file, so that nothing is rewritten before the cleanup.
      for (const letter of letters.slice(0, 3)) await other.delete(letter.id)
      const cleanup = frozen.cleanup(0)
      await stopped.promise
      // As after the lock was taken over and released.
      for (const lock of await filesBelow(dir, 'rewriting.held')) await rm(lock)
      await other.delete(letters[3]!.id)
      await other.cleanup(0)
      goOn.resolve(undefined)
      await cleanup
      const expected = letters.slice(4).map(encodeLetter).sort()
      expect(await all(other as FileDeadLetters)).toEqual(expected)
      expect(await all(frozen)).toEqual(expected)
      expect(await filesBelow(dir, '.tmp')).toEqual([])
      await frozen.close()
      await other.close()
    })
  })

  it('E10: removes what a killed process left of a rewrite, as soon as the folder is opened', async () => {
    await withTempFolder(async dir => {
      const make = createFactory()
      const earlier = fileSpill({ dir })
      await earlier.send(make.letter())
      await earlier.close()
      const [file] = await filesBelow(dir, '.jsonl')
      await writeFile(file!.replace('.jsonl', '.1.jsonl.tmp'), 'x')
      const spill = fileSpill({ dir })
      expect(await spill.size()).toBe(1)
      await spill.close()
      expect(await filesBelow(dir, '.tmp')).toEqual([])
    })
  })

  it('E10: gives the space of deleted letters back, and keeps every other as it was', async () => {
    await withTempFolder(async dir => {
      const make = createFactory()
      const store = fileDeadLetters({ dir, rotateBytes: ROTATE_BYTES })
      const letters = Array.from({ length: 60 }, () => make.letter())
      for (const letter of letters) await store.send(letter)
      const before = await store.usage()
      // One in each file or so stays.
      const kept = letters.filter((_, index) => index % 6 === 0)
      for (const letter of letters) if (!kept.includes(letter)) await store.delete(letter.id)
      await store.cleanup(0)
      const expected = kept.map(encodeLetter).sort()
      expect(await all(store)).toEqual(expected)
      const after = await store.usage()
      expect(after.bytes).toBeLessThan(before.bytes / 2)
      expect(await filesBelow(dir, '.jsonl')).toHaveLength(after.files)
      await store.close()
      const reopened = fileDeadLetters({ dir, rotateBytes: ROTATE_BYTES })
      expect(await all(reopened)).toEqual(expected)
      await reopened.close()
    })
  })

  for (const seed of [1, 2, 3, 4]) {
    it(`E10: whatever is sent, changed, deleted and cleaned up, nothing is lost and nothing comes back (seed ${seed})`, async () => {
      await withTempFolder(async dir => {
        const random = seededRandom(seed)
        const make = createFactory({ random })
        const model = new Map<string, DeadLetter>()
        const pick = () => [...model.values()][Math.floor(random() * model.size)]
        const open = () => fileDeadLetters({ dir, rotateBytes: ROTATE_BYTES })
        let store = open()
        for (let step = 0; step < 400; step++) {
          const dice = random()
          const known = pick()
          if (dice < 0.5 || known === undefined) {
            const letter = make.letter()
            await store.send(letter)
            model.set(letter.id, letter)
          } else if (dice < 0.65) {
            const changed = await store.change(known.id, { to: 'resolved', at: step })
            model.set(known.id, changed!)
          } else if (dice < 0.95) {
            expect(await store.delete(known.id)).toBe(true)
            model.delete(known.id)
          } else if (dice < 0.98) {
            await store.cleanup(0)
          } else {
            await store.close()
            store = open()
          }
        }
        await store.cleanup(0)
        const expected = [...model.values()].map(encodeLetter).sort()
        expect(await all(store)).toEqual(expected)
        await store.close()
        const reopened = open()
        expect(await all(reopened)).toEqual(expected)
        await reopened.close()
      })
    })
  }

  it('E10: another who has the same folder open reads on, whatever is rewritten under it', async () => {
    await withTempFolder(async dir => {
      const make = createFactory()
      const [one, other] = [0, 1].map(() => fileDeadLetters({ dir, rotateBytes: ROTATE_BYTES })) as [
        FileDeadLetters,
        FileDeadLetters,
      ]
      const letters = Array.from({ length: 40 }, () => make.letter())
      for (const letter of letters) await one.send(letter)
      expect((await other.stats()).count).toBe(40)
      for (const letter of letters.slice(0, 30)) await one.delete(letter.id)
      await one.cleanup(0)
      expect(await all(other)).toEqual(letters.slice(30).map(encodeLetter).sort())
      for (const letter of letters.slice(30, 38)) expect(await other.delete(letter.id)).toBe(true)
      await other.cleanup(0)
      expect(await one.get(letters[38]!.id)).toEqual(letters[38])
      expect(await all(one)).toEqual(letters.slice(38).map(encodeLetter).sort())
      await one.close()
      await other.close()
    })
  })

  it('E10: opens a folder although another process rewrites one file after the other meanwhile', async () => {
    await withTempFolder(async dir => {
      const make = createFactory()
      const letters = Array.from({ length: 40 }, () => make.letter())
      const one = fileDeadLetters({ dir, rotateBytes: ROTATE_BYTES })
      for (const letter of letters) await one.send(letter)
      await one.close()
      const gone = new Set<string>()
      let reads = 0
      // Each of the files is gone twice when its turn comes, because it has just been rewritten.
      const files = failingFiles((call, path) => {
        if (call !== 'sizeOf' || !path.endsWith('.jsonl')) return undefined
        reads++
        if (gone.has(`${path} twice`)) return undefined
        gone.add(gone.has(path) ? `${path} twice` : path)
        return 'ENOENT'
      })
      const other = new FileDeadLetters(resolveOptions('test', deadLetterRules, { dir }), files)
      expect(await all(other)).toEqual(letters.map(encodeLetter).sort())
      expect(gone.size).toBeGreaterThan(10)
      // Files that were read before are not read again.
      expect(reads).toBeLessThan(gone.size * 4)
      await other.close()
    })
  })

  it('E10: cleans up although another process has rewritten the same files and written nothing since', async () => {
    await withTempFolder(async dir => {
      const make = createFactory()
      const [one, other] = [0, 1].map(() => fileDeadLetters({ dir, rotateBytes: ROTATE_BYTES })) as [
        FileDeadLetters,
        FileDeadLetters,
      ]
      const letters = Array.from({ length: 40 }, () => make.letter())
      for (const letter of letters) await one.send(letter)
      // Few enough that the deletions close no file, so that nothing is rewritten before the cleanup.
      for (const letter of letters.slice(0, 3)) await one.delete(letter.id)
      expect((await other.stats()).count).toBe(37)
      await one.cleanup(0)
      await other.cleanup(0)
      expect(await all(other)).toEqual(letters.slice(3).map(encodeLetter).sort())
      await one.close()
      await other.close()
    })
  })

  it('B7: a spill that fills and drains again and again does not grow without limit', async () => {
    await withTempFolder(async dir => {
      const make = createFactory()
      const spill = fileSpill({ dir, rotateBytes: ROTATE_BYTES })
      for (let round = 0; round < 40; round++) {
        for (let index = 0; index < 5; index++) await spill.send(make.letter())
        expect(await spill.drain({ send: async () => {}, close: async () => {} })).toBe(5)
      }
      await spill.close()
      expect((await filesBelow(dir, '.jsonl')).length).toBeLessThan(8)
    })
  })

  it('B7: what a drain has sent is gone, also when its files are rewritten under it', async () => {
    await withTempFolder(async dir => {
      const make = createFactory()
      const spill = fileSpill({ dir, rotateBytes: 30_000 })
      for (let index = 0; index < 300; index++) await spill.send(make.letter())
      // Each letter that goes makes room for another, so that files are closed, and rewritten, all the time.
      const send = () => spill.send(make.letter())
      expect(await spill.drain({ send, close: async () => {} })).toBe(300)
      expect(await spill.size()).toBe(300)
      await spill.close()
    })
  })
})
