import { describe, expect, it } from 'vitest'
import { type FileFault, failingFiles, fullableDisk } from '../../../../test/support/failing-files.ts'
import { filesBelow, withTempFolder } from '../../../../test/support/folder.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { resolveOptions } from '../../../core/options/resolve.ts'
import { createFactory } from '../../../testing/factories.ts'
import { FileJournal, type FileJournalOptions, fileJournal } from '../index.ts'
import { eventJournalRules } from './event-journal.ts'

describe('removals of a file journal that cannot be written', () => {
  it('E21: a full disk forgets no removal: they are written after the next append', async () => {
    await withTempFolder(async dir => {
      const disk = fullableDisk()
      const journal = journalOn(dir, disk.faultOf)
      const [staying, refused, later, ...removed] = createFactory().events(103)
      for (const event of [staying!, ...removed]) await journal.append({ event })
      disk.isFull = true
      for (const { id } of removed) await journal.remove(id)
      await expect(journal.append({ event: refused! })).rejects.toThrow('ENOSPC')
      expect(await journal.size()).toBe(1)
      expect(await eventsOf(journal)).toEqual([staying])
      disk.isFull = false
      await journal.append({ event: later! })
      await expect.poll(() => storedIn(dir)).toEqual([staying, later])
      expect(await journal.size()).toBe(2)
      await journal.close()
    })
  })

  it('E21: closing writes the removals that were refused, and those that were not written yet', async () => {
    await withTempFolder(async dir => {
      const disk = fullableDisk()
      const journal = journalOn(dir, disk.faultOf)
      const [staying, refused, first, second] = createFactory().events(4)
      for (const event of [staying!, first!, second!]) await journal.append({ event })
      disk.isFull = true
      await journal.remove(first!.id)
      await expect(journal.append({ event: refused! })).rejects.toThrow('ENOSPC')
      await journal.remove(second!.id)
      disk.isFull = false
      await journal.close()
      expect(await storedIn(dir)).toEqual([staying])
    })
  })

  it('E21: removals are written later when the lock could not be taken several times', async () => {
    await withTempFolder(async dir => {
      let isExhausted = false
      let refusals = 0
      const journal = journalOn(dir, (call, path) => {
        if (!isExhausted || call !== 'link' || !path.includes('lock')) return undefined
        refusals++
        return 'EMFILE'
      })
      const [refused, ...removed] = createFactory().events(4)
      for (const event of removed) await journal.append({ event })
      // The journal keeps the lock for a moment after a write.
      await expect.poll(() => filesBelow(dir, 'writing.held')).toEqual([])
      isExhausted = true
      for (const { id } of removed) {
        await journal.remove(id)
        await expect(journal.append({ event: refused! })).rejects.toThrow('EMFILE')
        // The next round begins when the retry has ended.
        let before = 0
        const hasChanged = () => {
          const change = refusals - before
          before = refusals
          return change > 0
        }
        await expect.poll(hasChanged).toBe(false)
      }
      expect(await journal.size()).toBe(0)
      isExhausted = false
      await journal.close()
      expect(await storedIn(dir)).toEqual([])
    })
  })

  it('E21: a journal that has filled its disk gets empty, because removing a file needs no space', async () => {
    await withTempFolder(async dir => {
      const disk = fullableDisk()
      const journal = journalOn(dir, disk.faultOf, { rotateBytes: 1_000 })
      const [refused, staying, ...removed] = createFactory().events(30)
      for (const event of [...removed, staying!]) await journal.append({ event })
      expect((await filesBelow(dir, '.jsonl')).length).toBeGreaterThan(5)
      disk.isFull = true
      for (const { id } of removed) await journal.remove(id)
      await expect(journal.append({ event: refused! })).rejects.toThrow('ENOSPC')
      // The files of the event that stays, and of the next write.
      await expect.poll(async () => (await filesBelow(dir, '.jsonl')).length).toBe(2)
      expect(await journal.size()).toBe(1)
      expect(await eventsOf(journal)).toEqual([staying])
      await journal.remove(staying!.id)
      await journal.close()
      expect(await storedIn(dir)).toEqual([])
    })
  })

  it('E21: a journal whose files were removed on a full disk takes as many events as before', async () => {
    await withTempFolder(async dir => {
      const disk = fullableDisk()
      const journal = journalOn(dir, disk.faultOf, { maxEvents: 2 })
      const [first, second, third, fourth] = createFactory().events(4)
      for (const event of [first!, second!]) await journal.append({ event })
      disk.isFull = true
      for (const { id } of [first!, second!]) await journal.remove(id)
      await expect(journal.append({ event: third! })).rejects.toThrow('ENOSPC')
      await expect.poll(() => storedIn(dir)).toEqual([])
      disk.isFull = false
      for (const event of [first!, third!]) await journal.append({ event })
      await expect(journal.append({ event: fourth! })).rejects.toMatchObject({ code: 'LAZARET_JOURNAL_FULL' })
      expect(await journal.size()).toBe(2)
      await journal.close()
    })
  })

  it('E21: an event that comes again after its removal was refused is kept', async () => {
    await withTempFolder(async dir => {
      const disk = fullableDisk()
      const writes = heldWrites()
      const journal = journalOn(dir, async (call, path) => {
        await writes.faultOf(call, path)
        return disk.faultOf(call, path)
      })
      const [again, refused, later] = createFactory().events(3)
      await journal.append({ event: again! })
      disk.isFull = true
      await journal.remove(again!.id)
      await expect(journal.append({ event: refused! })).rejects.toThrow('ENOSPC')
      const release = writes.hold()
      disk.isFull = false
      const first = journal.append({ event: later! })
      // The old removal is tried again after the write of `later`, together with this append.
      await writes.reached
      const second = journal.append({ event: again! })
      release()
      await Promise.all([first, second])
      expect(await journal.size()).toBe(2)
      await journal.close()
      expect(await storedIn(dir)).toEqual([later, again])
    })
  })

  it('E21: an event whose second append is refused is removed as it was to be', async () => {
    await withTempFolder(async dir => {
      const disk = fullableDisk()
      const journal = journalOn(dir, disk.faultOf)
      const [event, staying, refused] = createFactory().events(3)
      for (const each of [event!, staying!]) await journal.append({ event: each })
      disk.isFull = true
      await journal.remove(event!.id)
      await expect(journal.append({ event: refused! })).rejects.toThrow('ENOSPC')
      await expect(journal.append({ event: event! })).rejects.toThrow('ENOSPC')
      expect(await journal.size()).toBe(1)
      disk.isFull = false
      await journal.close()
      expect(await storedIn(dir)).toEqual([staying])
    })
  })

  for (const isQueued of [false, true]) {
    const when = isQueued ? 'waits for another write' : 'is being written'
    it(`E21: an event that is removed while its append ${when} is gone once the append is written`, async () => {
      await withTempFolder(async dir => {
        const writes = heldWrites()
        const journal = journalOn(dir, writes.faultOf)
        const [event, other] = createFactory().events(2)
        const release = writes.hold()
        const before = isQueued ? journal.append({ event: other! }) : undefined
        if (isQueued) await writes.reached
        const appended = journal.append({ event: event! })
        await writes.reached
        await journal.remove(event!.id)
        release()
        await Promise.all([before, appended])
        const left = isQueued ? [other] : []
        expect(await eventsOf(journal)).toEqual(left)
        expect(await journal.size()).toBe(left.length)
        await journal.close()
        expect(await storedIn(dir)).toEqual(left)
      })
    })
  }
})

function journalOn(
  dir: string,
  faultOf: FileFault,
  options: Omit<FileJournalOptions, 'dir'> = {},
): FileJournal {
  return new FileJournal(
    resolveOptions('test', eventJournalRules, { ...options, dir }),
    failingFiles(faultOf),
  )
}

async function eventsOf(journal: FileJournal): Promise<LazaretEvent[]> {
  return (await journal.pending()).entries.map(({ event }) => event)
}

/** The events that the next process finds. */
async function storedIn(dir: string): Promise<LazaretEvent[]> {
  const journal = fileJournal({ dir })
  const events = await eventsOf(journal)
  await journal.close()
  return events
}

/** Holds up the writes of lines between `hold` and the function that it returns. */
function heldWrites() {
  let reach = () => {}
  let held: Promise<void> | undefined
  const writes = {
    /** Resolves when a write is held up. */
    reached: Promise.resolve(),
    hold(): () => void {
      const [reaching, holding] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      writes.reached = reaching.promise
      reach = reaching.resolve
      held = holding.promise
      return holding.resolve
    },
    async faultOf(call: string, path: string) {
      if (held === undefined || call !== 'write' || !path.endsWith('.jsonl')) return undefined
      reach()
      await held
      return undefined
    },
  }
  return writes
}
