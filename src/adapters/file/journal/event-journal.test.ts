import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { failingFiles } from '../../../../test/support/failing-files.ts'
import { filesBelow, linesOf, withTempFolder } from '../../../../test/support/folder.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { systemClock, systemRandom } from '../../../ports/clock.ts'
import { plainCodec } from '../../../ports/codec.ts'
import { createSealing } from '../../../runtime/sealing/sealing.ts'
import { createFactory } from '../../../testing/factories.ts'
import { type Damage, FileJournal, fileDeadLetters, fileJournal } from '../index.ts'

async function eventsOf(journal: FileJournal): Promise<LazaretEvent[]> {
  return (await journal.pending()).entries.map(({ event }) => event)
}

describe('the journal of critical events in files', () => {
  it('E21: events that were appended and not removed are there after a restart, oldest first', async () => {
    await withTempFolder(async dir => {
      const make = createFactory()
      const events = make.events(5, { payload: new Uint8Array([0, 255]) })
      const first = fileJournal({ dir, rotateBytes: 1_000 })
      for (const event of events) await first.append({ event })
      await first.append({ event: events[0]! })
      await first.remove(events[1]!.id)
      await first.remove('no-such-event')
      await first.close()
      await first.close()
      const again = fileJournal({ dir })
      expect(await eventsOf(again)).toEqual([0, 2, 3, 4].map(index => events[index]))
      await again.close()
      await expect(again.append({ event: events[1]! })).rejects.toMatchObject({
        code: 'LAZARET_STORE_CLOSED',
      })
    })
  })

  it('E21: while events come and go, it does not grow without limit, and keeps the one that stays', async () => {
    await withTempFolder(async dir => {
      const make = createFactory()
      const journal = fileJournal({ dir, rotateBytes: 2_000 })
      const [staying, ...passing] = make.events(120)
      await journal.append({ event: staying! })
      for (const event of passing) {
        await journal.append({ event })
        await journal.remove(event.id)
      }
      await journal.close()
      expect((await filesBelow(dir, '.jsonl')).length).toBeLessThan(8)
      const again = fileJournal({ dir })
      expect(await eventsOf(again)).toEqual([staying])
      await again.close()
    })
  })
})

describe('a file journal with failing or damaged files', () => {
  it('E21: a disk that fails while it opens rejects, and the next read has everything', async () => {
    await withTempFolder(async dir => {
      const [event] = createFactory().events(1)
      const first = fileJournal({ dir })
      await first.append({ event: event! })
      await first.close()
      let fails = true
      const files = failingFiles(call => (fails && call === 'write' ? 'EIO' : undefined))
      const journal = new FileJournal({ ...settingsFor(dir), maxEvents: 10 }, files)
      await expect(journal.pending()).rejects.toMatchObject({ code: 'LAZARET_STORE_FAILED' })
      fails = false
      expect(await eventsOf(journal)).toEqual([event])
      await journal.close()
    })
  })

  it('E21: a full disk is told as that; nothing is lost, and it goes on when there is room', async () => {
    await withTempFolder(async dir => {
      let isFull = false
      const files = failingFiles((call, path) =>
        isFull && call === 'write' && path.endsWith('.jsonl') ? 'ENOSPC' : undefined,
      )
      const journal = new FileJournal({ ...settingsFor(dir), maxEvents: 10 }, files)
      const [before, refused, after] = createFactory().events(3)
      await journal.append({ event: before! })
      isFull = true
      await expect(journal.append({ event: refused! })).rejects.toMatchObject({
        code: 'LAZARET_STORE_FAILED',
        message: expect.stringContaining('free disk space'),
      })
      isFull = false
      await journal.append({ event: after! })
      await journal.close()
      const again = fileJournal({ dir })
      expect(await eventsOf(again)).toEqual([before, after])
      await again.close()
    })
  })

  it('E21: a damaged line is told, with its file, and the others are sent', async () => {
    await withTempFolder(async dir => {
      const events = createFactory().events(3)
      const first = fileJournal({ dir })
      for (const event of events) await first.append({ event })
      await first.close()
      const [path] = await filesBelow(dir, '.jsonl')
      const lines = await linesOf(path!)
      lines[1] = lines[1]!.replace('order.placed', 'order.forged')
      await writeFile(path!, `${lines.join('\n')}\n`)
      const damage: Damage[] = []
      const again = fileJournal({ dir, onDamage: each => damage.push(each) })
      expect(await eventsOf(again)).toEqual([events[0], events[2]])
      expect(damage).toHaveLength(1)
      await again.close()
    })
  })

  it('E21: entries that were sealed with another key stay, and are reported', async () => {
    await withTempFolder(async dir => {
      const sealing = () => createSealing({ current: 'k', keys: { k: randomBytes(32) } })
      const event = createFactory().event()
      const first = fileJournal({ dir, codec: sealing() })
      await first.append({ event })
      await first.close()
      const again = fileJournal({ dir, codec: sealing() })
      const { entries, unreadable } = await again.pending()
      expect(entries).toEqual([])
      expect(unreadable).toMatchObject([{ code: 'LAZARET_JOURNAL_UNREADABLE', eventId: event.id }])
      await again.close()
    })
  })

  it('E21: an event that comes again while its removal waits to be written is kept', async () => {
    await withTempFolder(async dir => {
      const event = createFactory().event()
      const first = fileJournal({ dir })
      await first.append({ event })
      await first.remove(event.id)
      await first.append({ event })
      await first.close()
      const again = fileJournal({ dir })
      expect(await eventsOf(again)).toEqual([event])
      await again.close()
    })
  })
})

function settingsFor(dir: string) {
  return {
    dir,
    rotateBytes: 10_000,
    codec: plainCodec,
    onDamage: () => {},
    clock: systemClock,
    random: systemRandom,
  }
}

describe('sealed files', () => {
  it('P2: with a key, no payload and no header stands in the files, and letters come back whole', async () => {
    await withTempFolder(async dir => {
      const codec = createSealing({ current: 'k1', keys: { k1: randomBytes(32) } })
      const make = createFactory()
      const event = make.event({ payload: { card: '4111-secret' }, headers: { cookie: 'hush-secret' } })
      const letter = make.letter({ event })
      const store = fileDeadLetters({ dir, codec })
      await store.send(letter)
      await store.close()
      for (const path of await filesBelow(dir)) expect((await linesOf(path)).join()).not.toContain('secret')
      const again = fileDeadLetters({ dir, codec })
      expect((await again.list({ search: 'econnrefused' })).letters).toEqual([letter])
      await again.close()
      const keyless = fileDeadLetters({
        dir,
        codec: createSealing({ current: 'k2', keys: { k2: randomBytes(32) } }),
      })
      expect((await keyless.stats()).count).toBe(1)
      await expect(keyless.list()).rejects.toMatchObject({ code: 'LAZARET_SEAL_UNOPENED' })
      await keyless.close()
    })
  })

  it('P2: letters that a codec writes as it likes are kept too', async () => {
    await withTempFolder(async dir => {
      const { letters, events } = createSealing({ current: 'k', keys: { k: randomBytes(32) } })
      const codec = {
        events,
        letters: {
          encode: (letter: Parameters<typeof letters.encode>[0]) => `\n${btoa(letters.encode(letter))}`,
          decode: (text: string) => letters.decode(atob(text.trim())),
        },
      }
      const letter = createFactory().letter()
      const store = fileDeadLetters({ dir, codec })
      await store.send(letter)
      await store.close()
      const again = fileDeadLetters({ dir, codec })
      expect((await again.list({ search: letter.event.id })).letters).toEqual([letter])
      await again.close()
    })
  })
})
