import { describe, expect, it } from 'vitest'
import { inFolder } from '../../../test/support/folder.ts'
import { createFactory } from '../../testing/factories.ts'
import { fileDeadLetters, fileStore } from './index.ts'

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
})
