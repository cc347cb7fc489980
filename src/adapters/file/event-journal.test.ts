import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { filesBelow, inFolder, linesOf } from '../../../test/support/folder.ts'
import { createSealing } from '../../runtime/sealing/sealing.ts'
import { createFactory } from '../../testing/factories.ts'
import { fileDeadLetters, fileJournal } from './index.ts'

describe('the journal of critical events in files', () => {
  it('E21: what was appended and not removed is there after a restart, oldest first', async () => {
    await inFolder(async dir => {
      const make = createFactory()
      const events = make.events(5, { payload: new Uint8Array([0, 255]) })
      const first = fileJournal({ dir, rotateBytes: 1_000 })
      for (const event of events) await first.append(event)
      await first.append(events[0]!)
      await first.remove(events[1]!.id)
      await first.remove('no-such-event')
      await first.close()
      await first.close()
      const again = fileJournal({ dir })
      expect(await again.pending()).toEqual([0, 2, 3, 4].map(index => events[index]))
      await again.close()
      await expect(again.append(events[1]!)).rejects.toMatchObject({ code: 'LAZARET_STORE_CLOSED' })
    })
  })

  it('E21: as much as comes and goes, it does not grow for ever, and keeps the one that stays', async () => {
    await inFolder(async dir => {
      const make = createFactory()
      const journal = fileJournal({ dir, rotateBytes: 2_000 })
      const [staying, ...passing] = make.events(120)
      await journal.append(staying!)
      for (const event of passing) {
        await journal.append(event)
        await journal.remove(event.id)
      }
      await journal.close()
      expect((await filesBelow(dir, '.jsonl')).length).toBeLessThan(8)
      const again = fileJournal({ dir })
      expect(await again.pending()).toEqual([staying])
      await again.close()
    })
  })
})

describe('sealed files', () => {
  it('P2: with a key, no payload and no header stands in the files, and letters come back whole', async () => {
    await inFolder(async dir => {
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
    await inFolder(async dir => {
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
