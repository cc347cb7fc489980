import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { withTempFolder } from '../../../test/support/folder.ts'
import { createFactory } from '../../testing/factories.ts'
import { fileDeadLetters, fileStore } from './index.ts'

describe('a store in a folder', () => {
  it('F8: is named by its URL, and shows what fileDeadLetters has written there', async () => {
    await withTempFolder(async dir => {
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

  it('E10: opens SQLite for replays and snapshots alone, and never for letters', async () => {
    await withTempFolder(async dir => {
      const store = fileStore({ dir })
      await store.deadLetters.send(createFactory().letter())
      await store.groups.list()
      await store.audit.list()
      expect(await readdir(dir)).not.toContain('operations.db')
      expect(await store.replays.list()).toEqual([])
      expect(await readdir(dir)).toContain('operations.db')
      await store.close()
    })
  })

  it('E10: keeps letters while the file of replays and snapshots is broken, and says what is wrong with it', async () => {
    await withTempFolder(async dir => {
      await writeFile(join(dir, 'operations.db'), 'no database at all'.repeat(1_000))
      const store = fileStore({ dir })
      const letter = createFactory().letter()
      await store.deadLetters.send(letter)
      expect((await store.deadLetters.list()).letters).toEqual([letter])
      await expect(store.replays.list()).rejects.toThrow(/operations\.db/)
      await expect(store.snapshots.list()).rejects.toThrow(/operations\.db/)
      await store.close()
    })
  })
})
