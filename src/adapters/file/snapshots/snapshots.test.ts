import { appendFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { filesBelow, inFolder, linesOf } from '../../../../test/support/folder.ts'
import { snapshotOf } from '../../../testing/conformance/store/snapshots.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { fileStore } from '../index.ts'

const DAY_MS = 86_400_000

const journalsIn = (dir: string) => filesBelow(join(dir, 'snapshots'), '.jsonl')

async function bytesIn(dir: string): Promise<number> {
  const sizes = await Promise.all((await journalsIn(dir)).map(async path => (await stat(path)).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}

describe('snapshots in a folder', () => {
  it('K7: a torn last line loses nothing before it, and the next is written behind it', async () => {
    await inFolder(async dir => {
      const before = fileStore({ dir })
      await before.snapshots.append([snapshotOf('orders', 1), snapshotOf('mails', 1)])
      await before.close()
      const [path] = await journalsIn(dir)
      const [line] = await linesOf(path!)
      await appendFile(path!, line!.slice(0, 50))
      const damages: string[] = []
      const store = fileStore({ dir, onDamage: ({ kind }) => damages.push(kind) })
      await store.snapshots.append([snapshotOf('orders', 2)])
      const kept = [snapshotOf('mails', 1), snapshotOf('orders', 2), snapshotOf('orders', 1)]
      expect(await store.snapshots.list()).toEqual(kept)
      expect(damages).toEqual(['torn'])
      await store.close()
      const after = fileStore({ dir })
      expect(await after.snapshots.list()).toEqual(kept)
      await after.close()
    })
  })

  it('K7: one line that cannot be read takes no other with it', async () => {
    await inFolder(async dir => {
      const before = fileStore({ dir })
      await before.snapshots.append([snapshotOf('orders', 1)])
      await before.close()
      const [path] = await journalsIn(dir)
      await appendFile(path!, '{"crc":"00000000","put":{}}\nno line at all\n')
      const damages: string[] = []
      const store = fileStore({ dir, onDamage: ({ kind }) => damages.push(kind) })
      await store.snapshots.append([snapshotOf('orders', 2)])
      expect((await store.snapshots.list()).map(({ at }) => at % 10)).toEqual([2, 1])
      expect(damages).toEqual(['checksum', 'checksum'])
      await store.close()
    })
  })

  it('K7: purged all the time, neither disk nor files grow, and what is left is read rightly', async () => {
    await inFolder(async dir => {
      const clock = new FakeClock()
      const store = fileStore({ dir, clock, rotateBytes: 4_000 })
      const channels = ['orders', 'mails', 'bills']
      const bytes: number[] = []
      for (let ms = 0; ms < 120; ms++) {
        // One that comes late, one that comes again: neither is where a time-ordered journal would have it.
        const late = ms % 7 === 0 ? [snapshotOf('late', Math.max(0, ms - 5))] : []
        await store.snapshots.append([...channels.map(channel => snapshotOf(channel, ms)), ...late])
        if (ms % 10 === 0) await store.snapshots.append([snapshotOf('orders', ms, { depth: ms })])
        if (ms % 4 === 3) await store.snapshots.purge(snapshotOf('', ms - 15).at)
        if (ms % 40 === 39) await clock.advance(DAY_MS)
        bytes.push(await bytesIn(dir))
      }
      expect(Math.max(...bytes.slice(60))).toBeLessThan(Math.max(...bytes.slice(0, 60)) * 1.5)
      expect((await journalsIn(dir)).length).toBeLessThan(12)
      const list = await store.snapshots.list({ perChannel: 100 })
      const orders = list.filter(({ channel }) => channel === 'orders')
      expect(orders.map(({ depth }) => depth)).toEqual([...Array(9).fill(7), 110, ...Array(6).fill(7)])
      await store.close()
      const again = fileStore({ dir, clock })
      expect(await again.snapshots.list({ perChannel: 100 })).toEqual(list)
      await again.close()
    })
  })
})
