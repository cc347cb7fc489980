import { describe, expect, it } from 'vitest'
import { type FileFault, failingFiles } from '../../../../test/support/failing-files.ts'
import { filesBelow, withTempFolder } from '../../../../test/support/folder.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { resolveOptions } from '../../../core/options/resolve.ts'
import { createFactory } from '../../../testing/factories.ts'
import { seededRandom } from '../../../testing/seeded-random.ts'
import { type Damage, fileDeadLetters } from '../index.ts'
import { deadLetterRules, FileDeadLetters } from '../letters/dead-letters.ts'

function storeWith(dir: string, faultOf: FileFault, rotateBytes?: number): FileDeadLetters {
  const options = resolveOptions('test', deadLetterRules, { dir, rotateBytes })
  return new FileDeadLetters(options, failingFiles(faultOf))
}

async function storedIn(dir: string): Promise<{ readonly ids: string[]; readonly damage: Damage[] }> {
  const damage: Damage[] = []
  const store = fileDeadLetters({ dir, onDamage: found => damage.push(found) })
  const { letters } = await store.list({ limit: 1_000 })
  await store.close()
  return { ids: idsOf(letters), damage }
}

function idsOf(letters: readonly DeadLetter[]): string[] {
  return letters.map(({ id }) => id).sort()
}

const isLine = (path: string) => path.endsWith('.jsonl')

/** Fails so many syncs and cuts; index files cannot be written, because nothing may depend on them. */
function brokenDisk(): { syncs: number; cuts: number; readonly faultOf: FileFault } {
  const left = {
    syncs: 0,
    cuts: 0,
    faultOf(call: string, path: string) {
      if (path.endsWith('index.tmp')) return 'EIO'
      if (!isLine(path)) return undefined
      if (call === 'datasync') return left.syncs-- > 0 ? 'EIO' : undefined
      return call === 'truncate' && left.cuts-- > 0 ? 'EIO' : undefined
    },
  }
  return left
}

describe('a disk that fails', () => {
  it('E10: after a failed sync the lines go to a new file, and their senders notice nothing', async () => {
    await withTempFolder(async dir => {
      let syncs = 0
      const store = storeWith(dir, call => (call === 'datasync' && ++syncs === 3 ? 'EIO' : undefined))
      const make = createFactory()
      const letters = Array.from({ length: 5 }, () => make.letter())
      for (const letter of letters) await store.send(letter)
      expect(idsOf((await store.list()).letters)).toEqual(idsOf(letters))
      expect((await store.usage()).files).toBe(2)
      await store.close()
      expect(await storedIn(dir)).toEqual({ ids: idsOf(letters), damage: [] })
    })
  })

  it('E10: while nothing can be synced, sending rejects and says why; then it goes on as if nothing had been', async () => {
    await withTempFolder(async dir => {
      let isBroken = false
      const store = storeWith(dir, (call, path) => {
        return isBroken && call === 'datasync' && isLine(path) ? 'EIO' : undefined
      })
      const make = createFactory()
      const [before, refused, after] = [make.letter(), make.letter(), make.letter()]
      await store.send(before)
      isBroken = true
      const failure = await store.send(refused).catch(error => error)
      expect(failure).toMatchObject({ code: 'LAZARET_STORE_FAILED', retryable: true })
      expect(failure.message).toMatch(/writing to .*letters-0.*jsonl: EIO.*check the disk/)
      expect(await store.get(refused.id)).toBeUndefined()
      isBroken = false
      await store.send(after)
      expect(idsOf((await store.list()).letters)).toEqual(idsOf([before, after]))
      await store.close()
      expect(await storedIn(dir)).toEqual({ ids: idsOf([before, after]), damage: [] })
    })
  })

  it('P1: a full disk is told as full, and the half-written line corrupts nothing', async () => {
    await withTempFolder(async dir => {
      let isFull = false
      const store = storeWith(dir, (call, path) =>
        isFull && call === 'write' && isLine(path) ? 'ENOSPC' : undefined,
      )
      const make = createFactory()
      const [before, refused, after] = [make.letter(), make.letter(), make.letter()]
      await store.send(before)
      isFull = true
      const failure = await store.send(refused).catch(error => error)
      expect(failure).toMatchObject({
        code: 'LAZARET_DEAD_LETTERS_FULL',
        retryable: true,
        capacity: undefined,
      })
      expect(failure.message).toContain('free disk space')
      await expect(store.delete(before.id)).rejects.toMatchObject({ code: 'LAZARET_DEAD_LETTERS_FULL' })
      isFull = false
      await store.send(after)
      await store.close()
      expect(await storedIn(dir)).toEqual({ ids: idsOf([before, after]), damage: [] })
    })
  })

  it('P1: a disk that stays full gets no new file with each letter it refuses', async () => {
    await withTempFolder(async dir => {
      let isFull = false
      const store = storeWith(dir, (call, path) =>
        isFull && call === 'write' && isLine(path) ? 'ENOSPC' : undefined,
      )
      const make = createFactory()
      const [before, after] = [make.letter(), make.letter()]
      await store.send(before)
      isFull = true
      for (let refused = 0; refused < 20; refused++)
        await expect(store.send(make.letter())).rejects.toMatchObject({ code: 'LAZARET_DEAD_LETTERS_FULL' })
      expect(await filesBelow(dir, '.jsonl')).toHaveLength(2)
      isFull = false
      await store.send(after)
      await store.close()
      expect(await filesBelow(dir, '.jsonl')).toHaveLength(2)
      expect(await storedIn(dir)).toEqual({ ids: idsOf([before, after]), damage: [] })
    })
  })

  it('E10: no letter is lost when the folder is read again while its files are rewritten, and reading fails', async () => {
    await withTempFolder(async dir => {
      const make = createFactory()
      const refusing = storeWith(dir, (call, path) =>
        call === 'write' && isLine(path) ? 'ENOSPC' : undefined,
      )
      let isRewriting = false
      let isUnreadable = false
      const store = storeWith(
        dir,
        async (call, path) => {
          if (isUnreadable && call === 'sizeOf' && path.includes('letters-000002')) return 'EIO'
          if (isRewriting || call !== 'datasync' || !path.endsWith('jsonl.tmp')) return undefined
          isRewriting = true
          // The file that it cuts off has another name now, so that everything is read from the beginning.
          await expect(refusing.send(make.letter())).rejects.toThrow('ENOSPC')
          isUnreadable = true
          await expect(store.list()).rejects.toThrow('EIO')
          isUnreadable = false
          return undefined
        },
        5_000,
      )
      const letters = Array.from({ length: 40 }, () => make.letter())
      for (const letter of letters) await store.send(letter)
      for (const letter of letters.slice(0, 3)) await store.delete(letter.id)
      await store.cleanup(0)
      expect(isRewriting).toBe(true)
      expect(idsOf((await store.list({ limit: 100 })).letters)).toEqual(idsOf(letters.slice(3)))
      await store.close()
      await refusing.close()
      expect(await storedIn(dir)).toEqual({ ids: idsOf(letters.slice(3)), damage: [] })
    })
  })

  it.each<[string, (store: FileDeadLetters, letters: readonly DeadLetter[]) => Promise<unknown>]>([
    ['counted', async store => expect((await store.stats()).count).toBe(37)],
    ['sent again', async (store, letters) => await store.send(letters[30]!)],
    ['deleted', async (store, letters) => expect(await store.delete(letters[39]!.id)).toBe(true)],
  ])(
    'E10: when reading the folder again fails halfway, every letter is still known when it is %s',
    async (_, work) => {
      await withTempFolder(async dir => {
        const make = createFactory()
        const other = storeWith(dir, () => undefined, 5_000)
        let isUnreadable = false
        const store = storeWith(dir, (call, path) =>
          isUnreadable && call === 'sizeOf' && path.includes('letters-000003') ? 'EIO' : undefined,
        )
        const letters = Array.from({ length: 40 }, () => make.letter())
        for (const letter of letters) await other.send(letter)
        for (const letter of letters.slice(0, 3)) await other.delete(letter.id)
        expect((await store.stats()).count).toBe(37)
        // A file is gone when the store looks for the letters in it.
        await other.cleanup(0)
        isUnreadable = true
        await expect(store.list({ limit: 100 })).rejects.toThrow('EIO')
        isUnreadable = false
        await work(store, letters)
        const { ids } = await storedIn(dir)
        expect(idsOf((await store.list({ limit: 100 })).letters)).toEqual(ids)
        expect(ids.length).toBeGreaterThanOrEqual(36)
        await store.close()
        await other.close()
      })
    },
  )

  it('E10: a change and a delete that were refused have not happened', async () => {
    await withTempFolder(async dir => {
      let isBroken = false
      const store = storeWith(dir, call => (isBroken && call === 'datasync' ? 'EIO' : undefined))
      const letter = createFactory().letter()
      await store.send(letter)
      isBroken = true
      await expect(store.change(letter.id, { to: 'discarded', at: 1 })).rejects.toThrow('EIO')
      await expect(store.delete(letter.id)).rejects.toThrow('EIO')
      expect(await store.get(letter.id)).toEqual(letter)
      await store.close()
      const reopened = fileDeadLetters({ dir })
      expect(await reopened.get(letter.id)).toEqual(letter)
      await reopened.close()
    })
  })

  for (const isRetried of [true, false]) {
    const outcome = isRetried ? 'is stored by the second try' : 'is refused, and sent again'
    it(`E10: a deleted letter stays deleted when its first line could not be cut off and it ${outcome}`, async () => {
      await withTempFolder(async dir => {
        const disk = brokenDisk()
        const store = storeWith(dir, disk.faultOf, 2_000)
        const make = createFactory()
        const [kept, deleted] = [make.letter(), make.letter()]
        await store.send(kept)
        disk.syncs = isRetried ? 1 : 2
        disk.cuts = disk.syncs
        if (!isRetried) await expect(store.send(deleted)).rejects.toThrow('EIO')
        await store.send(deleted)
        expect(await store.delete(deleted.id)).toBe(true)
        // So many that the file with the deletion is closed, and rewritten without what no longer counts.
        const others = Array.from({ length: 10 }, () => make.letter())
        for (const letter of others) await store.send(letter)
        for (const letter of others) await store.delete(letter.id)
        await store.cleanup(0)
        expect(idsOf((await store.list()).letters)).toEqual([kept.id])
        await store.close()
        expect(await storedIn(dir)).toEqual({ ids: [kept.id], damage: [] })
      })
    })
  }

  it('E10: a letter that another process found uncut and acknowledged outlives the rewriting of its file', async () => {
    await withTempFolder(async dir => {
      const disk = brokenDisk()
      const store = storeWith(dir, disk.faultOf, 2_000)
      const make = createFactory()
      const [first, uncut] = [make.letter(), make.letter()]
      await store.send(first)
      disk.syncs = 2
      disk.cuts = 1
      await expect(store.send(uncut)).rejects.toThrow('EIO')
      const other = fileDeadLetters({ dir })
      await other.send(uncut)
      const letters = Array.from({ length: 10 }, () => make.letter())
      for (const letter of letters) await store.send(letter)
      for (const letter of [first, ...letters]) await store.delete(letter.id)
      await store.cleanup(0)
      expect(idsOf((await store.list()).letters)).toEqual([uncut.id])
      await other.close()
      await store.close()
      expect(await storedIn(dir)).toEqual({ ids: [uncut.id], damage: [] })
    })
  })

  it('E10: a folder that cannot be opened is tried again the next time', async () => {
    await withTempFolder(async dir => {
      let isBroken = true
      const store = storeWith(dir, call => (isBroken && call === 'makeFolder' ? 'EACCES' : undefined))
      const letter = createFactory().letter()
      const failure = await store.send(letter).catch(error => error)
      expect(failure).toMatchObject({ code: 'LAZARET_STORE_FAILED', retryable: false })
      expect(failure.message).toContain(dir)
      isBroken = false
      await store.send(letter)
      expect(await store.get(letter.id)).toEqual(letter)
      await store.close()
    })
  })

  // Which calls there are depends on how writers share them, so a single seed may happen to hit none that matters.
  const refusedByAnySeed: unknown[] = []
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    it(`E10: whatever call fails now and then, what was sent is there and what was deleted is gone (seed ${seed})`, async () => {
      await withTempFolder(async dir => {
        const random = seededRandom(seed)
        const make = createFactory({ random })
        // A file that cannot be cut keeps lines that nobody acknowledged, so cuts fail more often.
        const faultOf: FileFault = call => {
          const fails = random() < (call === 'truncate' ? 0.5 : 0.03)
          return fails ? (random() < 0.5 ? 'EIO' : 'ENOSPC') : undefined
        }
        const store = storeWith(dir, faultOf, 4_000)
        const sent: string[] = []
        const deleting = new Set<string>()
        const deleted: string[] = []
        const refused: unknown[] = []
        const tell = (work: Promise<unknown>, id: string, done: string[]) =>
          work.then(
            () => done.push(id),
            error => refused.push(error.code),
          )
        for (let round = 0; round < 40; round++) {
          const leaving = sent.filter(id => !deleting.has(id)).slice(0, 3)
          for (const id of leaving) deleting.add(id)
          await Promise.all([
            ...Array.from({ length: 4 }, () => make.letter()).map(letter =>
              tell(store.send(letter), letter.id, sent),
            ),
            ...leaving.map(id => tell(store.delete(id), id, deleted)),
          ])
        }
        await store.close().catch(() => {})
        const { ids } = await storedIn(dir)
        expect(sent.filter(id => !ids.includes(id) && !deleting.has(id))).toEqual([])
        expect(deleted.filter(id => ids.includes(id))).toEqual([])
        expect(sent.length).toBeGreaterThan(50)
        refusedByAnySeed.push(...refused)
        expect(new Set([...refused, 'LAZARET_STORE_FAILED', 'LAZARET_DEAD_LETTERS_FULL'])).toEqual(
          new Set(['LAZARET_STORE_FAILED', 'LAZARET_DEAD_LETTERS_FULL']),
        )
      })
    })
  }

  it('E10: and some calls that matter did fail', () => {
    expect(refusedByAnySeed.length).toBeGreaterThan(0)
  })
})
