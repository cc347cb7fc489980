import { describe, expect, it } from 'vitest'
import { withTempFolder } from '../../../../test/support/folder.ts'
import { itemsOf, replayOf } from '../../../testing/conformance/store/replays.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { type FileStore, fileStore } from '../index.ts'

async function withStores(run: (open: () => FileStore, clock: FakeClock) => Promise<void>): Promise<void> {
  await withTempFolder(async dir => {
    const clock = new FakeClock()
    const stores: FileStore[] = []
    await run(() => {
      const store = fileStore({ dir, clock })
      stores.push(store)
      return store
    }, clock)
    for (const store of stores) await store.close()
  })
}

describe('replays in files', () => {
  it('B11: a replay and all its items survive a restart', async () => {
    await withStores(async open => {
      const first = open()
      await first.replays.create(replayOf('one'), itemsOf(2_500))
      await first.replays.record('one', [{ ...itemsOf(8)[7]!, status: 'sent', sentAt: 5 }])
      await first.close()
      const { replays } = open()
      expect(await replays.get('one')).toEqual(replayOf('one'))
      expect(await replays.counts('one')).toMatchObject({ waiting: 2_499, sent: 1, recovered: 0 })
      expect(await replays.items('one', { status: 'sent' })).toMatchObject([{ position: 7, sentAt: 5 }])
      const next = await replays.items('one', { after: 5, limit: 3 })
      expect(next.map(({ position }) => position)).toEqual([6, 7, 8])
      expect(await replays.items('two')).toEqual([])
      expect(await replays.get('two')).toBeUndefined()
    })
  })

  it('B11: of two who update the same revision one does, also in two processes', async () => {
    await withStores(async open => {
      const [one, other] = [open(), open()]
      await one.replays.create(replayOf('one'), [])
      const running = replayOf('one', { state: 'running' })
      const answers = await Promise.all([one.replays.update(running), other.replays.update(running)])
      expect(answers.filter(each => each !== undefined)).toEqual([{ ...running, revision: 1 }])
      expect(await other.replays.get('one')).toEqual({ ...running, revision: 1 })
      expect(await one.replays.update(replayOf('unknown'))).toBeUndefined()
    })
  })

  it('B11: a replay is leased to one runner at a time; an expired lease can be taken over', async () => {
    await withStores(async (open, clock) => {
      const [one, other] = [open().replays, open().replays]
      await one.create(replayOf('one'), [])
      expect(await one.lease('one', 'a', 1_000)).toBe(true)
      expect(await other.lease('one', 'b', 1_000)).toBe(false)
      expect(await one.lease('one', 'a', 1_000)).toBe(true)
      await clock.advance(1_000)
      expect(await other.lease('one', 'b', 1_000)).toBe(true)
      await one.releaseLease('one', 'a')
      expect(await one.lease('one', 'a', 1_000)).toBe(false)
      await other.releaseLease('one', 'b')
      expect(await one.lease('one', 'a', 1_000)).toBe(true)
      expect(await one.lease('unknown', 'a', 1_000)).toBe(false)
    })
  })

  it('B11: listed newest first, by state, and more of them than are kept in memory', async () => {
    await withStores(async open => {
      const { replays } = open()
      for (let at = 0; at < 10; at++) {
        await replays.create(
          replayOf(`../${at}`, { createdAt: at, state: at % 2 ? 'planned' : 'halted' }),
          itemsOf(at),
        )
      }
      expect((await replays.list({ limit: 2 })).map(({ id }) => id)).toEqual(['../9', '../8'])
      expect((await replays.list({ state: 'halted' })).map(({ id }) => id)).toEqual([
        '../8',
        '../6',
        '../4',
        '../2',
        '../0',
      ])
      for (let at = 0; at < 10; at++) expect((await replays.counts(`../${at}`)).waiting).toBe(at)
    })
  })
})
