import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { filesOpenToOthers } from '../../../test/support/file-permissions.ts'
import { createFactory } from '../../testing/factories.ts'
import { fileJournal, fileSpill, fileStore } from './index.ts'

const make = createFactory()

async function withTempFolder(run: (dir: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'lazaret-modes-'))
  try {
    await run(join(folder, 'made', 'by', 'us'))
    expect(await filesOpenToOthers(join(folder, 'made'))).toEqual([])
  } finally {
    await rm(folder, { recursive: true })
  }
}

describe.skipIf(process.platform === 'win32')('files that hold events', () => {
  it('P2: nobody but their owner may read a store, whatever is written to it', () =>
    withTempFolder(async dir => {
      const store = fileStore({ dir, rotateBytes: 2_000 })
      const letters = Array.from({ length: 20 }, () => make.letter())
      for (const letter of letters) await store.deadLetters.send(letter)
      for (const { id } of letters.slice(0, 15)) await store.deadLetters.delete(id)
      await store.deadLetters.cleanup()
      const [group] = (await store.groups.list()).groups
      await store.groups.change(group!.id, { at: 1, by: 'ann', state: 'muted' })
      await store.audit.append({ at: 1, by: 'ann', action: 'group.mute', target: group!.id })
      await store.snapshots.append([])
      await store.close()
      const again = fileStore({ dir })
      expect((await again.deadLetters.stats()).count).toBe(5)
      await again.close()
    }))

  it('B7: the same holds for the spill', () =>
    withTempFolder(async dir => {
      const spill = fileSpill({ dir })
      await spill.send(make.letter())
      await spill.close()
    }))

  it('B7: the same holds for a journal', () =>
    withTempFolder(async dir => {
      const journal = fileJournal({ dir })
      await journal.append({ event: make.event() })
      await journal.close()
    }))
})
