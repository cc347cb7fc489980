import { describe, expect, it } from 'vitest'
import { inFolder } from '../../../test/support/folder.ts'
import { PermanentError } from '../../core/failure/signals.ts'
import { createFactory } from '../../testing/factories.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { type FileStore, fileDeadLetters, fileStore } from './index.ts'

async function inStore(
  run: (store: FileStore, again: () => Promise<FileStore>, clock: FakeClock) => Promise<void>,
): Promise<void> {
  await inFolder(async dir => {
    const clock = new FakeClock()
    let store = fileStore({ dir, clock })
    const again = async () => {
      await store.close()
      store = fileStore({ dir, clock })
      return store
    }
    await run(store, again, clock)
    await store.close()
  })
}

describe('a store in a folder', () => {
  it('F8: is named by its URL, and shows what fileDeadLetters has written there', async () => {
    await inFolder(async dir => {
      const letter = createFactory().letter()
      const service = fileDeadLetters({ dir })
      await service.send(letter)
      const store = fileStore({ dir })
      expect(store.url).toBe(`file:${dir}`)
      expect(await store.deadLetters.get(letter.id)).toEqual(letter)
      await store.close()
      await store.close()
      await service.close()
      await expect(store.audit.list()).rejects.toMatchObject({ code: 'LAZARET_STORE_CLOSED' })
      await expect(store.groups.list()).rejects.toMatchObject({ code: 'LAZARET_DEAD_LETTERS_CLOSED' })
    })
  })

  it('B4: groups add up their letters, and keep what people say about them', async () => {
    await inStore(async (first, again, clock) => {
      const make = createFactory({ clock })
      const failing = (message: string) => make.letter({ error: new PermanentError(message) })
      const [one, two] = [failing('no such customer'), failing('no such customer')]
      await first.deadLetters.send(one)
      await clock.advance(1_000)
      for (const letter of [two, make.letter()]) await first.deadLetters.send(letter)
      await first.deadLetters.change(one.id, { to: 'replaying', at: clock.now() })
      await first.deadLetters.change(one.id, { to: 'resolved', at: clock.now() })
      const { groups } = await first.groups.list({ search: 'NO SUCH' })
      expect(groups).toMatchObject([
        {
          title: 'PermanentError: no such customer',
          count: 2,
          waiting: 1,
          replayed: 1,
          recovered: 1,
          channels: ['orders'],
          firstSeenAt: one.cycle.firstFailedAt,
          lastSeenAt: two.cycle.lastFailedAt,
          state: 'open',
          notes: [],
        },
      ])
      const id = groups[0]!.id
      const at = clock.now()
      await first.groups.change(id, { state: 'resolved', owner: 'ada', note: 'mended', at, by: 'ada' })
      const store = await again()
      expect(await store.groups.get(id)).toMatchObject({
        state: 'resolved',
        triage: { state: 'resolved', owner: 'ada', setBy: 'ada', setAt: at },
        notes: [{ at, by: 'ada', text: 'mended' }],
      })
      await clock.advance(1_000)
      await store.deadLetters.send(failing('no such customer'))
      expect(await store.groups.get(id)).toMatchObject({ state: 'open', regressed: true, count: 3 })
      expect((await store.groups.change(id, { owner: null, at, by: 'ada' }))?.triage.owner).toBeUndefined()
      expect(await store.groups.change('no-such-group', { at, by: 'ada' })).toBeUndefined()
    })
  })

  it('B4: groups are listed last seen first, page by page', async () => {
    await inStore(async (store, _again, clock) => {
      const make = createFactory({ clock })
      for (const name of ['a', 'b', 'c', 'd', 'e']) {
        await clock.advance(1)
        const error = Object.assign(new Error(`cannot ${name}`), { fingerprint: name, name: `Error${name}` })
        await store.deadLetters.send(make.letter({ error, channel: name === 'c' ? 'other' : 'orders' }))
      }
      const seen: string[] = []
      for (let cursor: string | undefined, page = 0; page < 10; page++) {
        const { groups, cursor: next } = await store.groups.list({ limit: 2, cursor })
        seen.push(...groups.map(({ title }) => title.slice(-1)))
        cursor = next
        if (next === undefined) break
      }
      expect(seen).toEqual(['e', 'd', 'c', 'b', 'a'])
      const { groups } = await store.groups.list({ channel: 'other' })
      expect(groups.map(({ title }) => title.slice(-1))).toEqual(['c'])
      expect((await store.groups.list({ state: 'muted' })).groups).toEqual([])
    })
  })

  it('F8: the audit tells what was done, newest first, and never forgets', async () => {
    await inStore(async (first, again) => {
      for (let at = 0; at < 5; at++) {
        await first.audit.append({
          at,
          by: 'ada',
          action: at % 2 ? 'group.mute' : 'letter.discard',
          target: `${at}`,
        })
      }
      const store = await again()
      const all = await store.audit.list()
      expect(all.entries.map(({ at }) => at)).toEqual([4, 3, 2, 1, 0])
      expect(all.cursor).toBeUndefined()
      const page = await store.audit.list({ limit: 2 })
      await store.audit.append({ at: 9, by: 'bob', action: 'letter.discard', target: '9' })
      const rest = await store.audit.list({ limit: 10, cursor: page.cursor })
      expect(rest.entries.map(({ at }) => at)).toEqual([2, 1, 0])
      expect((await store.audit.list({ action: 'group.mute' })).entries.map(({ at }) => at)).toEqual([3, 1])
      expect((await store.audit.list({ target: '9' })).entries.map(({ by }) => by)).toEqual(['bob'])
      await expect(store.audit.list({ cursor: 'nonsense' })).rejects.toThrow('cursor of the page before')
    })
  })
})
