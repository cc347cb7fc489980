import { cp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { withTempFolder } from '../../../../test/support/folder.ts'
import { createSealing } from '../../../runtime/sealing/sealing.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { type FileStore, fileStore } from '../index.ts'

/** A folder that an earlier version wrote, and everything that this version read from it. */
const EARLIER = fileURLToPath(new URL('../../../../test/fixtures/earlier-file-store', import.meta.url))
const NOON = Date.parse('2026-11-15T12:00:00Z')

async function dumpStore({ deadLetters, groups, replays, audit, snapshots }: FileStore): Promise<unknown> {
  const found = await replays.list()
  const everything = {
    letters: (await deadLetters.list({ limit: 1_000 })).letters,
    groups: (await groups.list()).groups,
    replays: found,
    items: await Promise.all(found.map(({ id }) => replays.items(id))),
    audit: (await audit.list()).entries,
    snapshots: await snapshots.list({ perChannel: 100 }),
  }
  return JSON.parse(JSON.stringify(everything))
}

async function inEarlierFolder(run: (open: () => FileStore, expected: unknown) => Promise<void>) {
  await withTempFolder(async dir => {
    await cp(join(EARLIER, 'folder'), dir, { recursive: true })
    const expected: unknown = JSON.parse(await readFile(join(EARLIER, 'expected.json'), 'utf8'))
    await run(() => fileStore({ dir, clock: new FakeClock(NOON) }), expected)
  })
}

describe('a folder of an earlier version', () => {
  it('E10: has everything it had, when it is opened first and ever after', async () => {
    await inEarlierFolder(async (open, expected) => {
      for (let opening = 0; opening < 2; opening++) {
        const store = open()
        expect(await dumpStore(store)).toEqual(expected)
        await store.close()
      }
    })
  })

  it('E10: has everything it had for two who open it at the same moment', async () => {
    await inEarlierFolder(async (open, expected) => {
      const stores = [open(), open()]
      for (const found of await Promise.all(stores.map(dumpStore))) expect(found).toEqual(expected)
      for (const store of stores) await store.close()
    })
  })

  it('P2: its sealed records are read with the same key, and stay sealed', async () => {
    await withTempFolder(async dir => {
      await cp(join(EARLIER, 'sealed'), dir, { recursive: true })
      const codec = createSealing({ current: 'k', keys: { k: Buffer.alloc(32, 1) } })
      const store = fileStore({ dir, codec })
      const found = [await store.replays.list(), await store.replays.items('one')]
      await store.close()
      expect(found).toEqual(JSON.parse(await readFile(join(EARLIER, 'sealed.json'), 'utf8')))
      expect(JSON.stringify(found)).toContain('secret-why')
      expect(await readFile(join(dir, 'operations.db'), 'latin1')).not.toContain('secret')
    })
  })
})
