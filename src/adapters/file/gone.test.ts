import { existsSync } from 'node:fs'
import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { failingFiles } from '../../../test/support/failing-files.ts'
import { withTempFolder } from '../../../test/support/folder.ts'
import { resolveOptions } from '../../core/options/resolve.ts'
import { createFactory } from '../../testing/factories.ts'
import { fileDeadLetters, fileJournal, fileSpill } from './index.ts'
import { deadLetterRules, FileDeadLetters } from './letters/dead-letters.ts'

const make = createFactory()
const GONE = {
  code: 'LAZARET_STORE_FAILED',
  retryable: true,
  message: expect.stringMatching(
    /(?:store|jsonl) was removed or replaced while it was open; put it back, or restart the service$/,
  ),
}

/** Everything that keeps a journal in a folder: how it takes something, and how many it has. */
const KINDS = {
  letters: (dir: string) => {
    const store = fileDeadLetters({ dir })
    return {
      add: () => store.send(make.letter()),
      count: async () => (await store.stats()).count,
      close: () => store.close(),
    }
  },
  spill: (dir: string) => {
    const spill = fileSpill({ dir })
    return { add: () => spill.send(make.letter()), count: () => spill.size(), close: () => spill.close() }
  },
  journal: (dir: string) => {
    const journal = fileJournal({ dir })
    return {
      add: () => journal.append({ event: make.event() }),
      count: async () => (await journal.pending()).entries.length,
      close: () => journal.close(),
    }
  },
}

describe.skipIf(process.platform === 'win32')('a folder that is gone while it is open', () => {
  for (const [kind, open] of Object.entries(KINDS))
    it(`K10: ${kind} in it: writes and reads are refused, no empty folder is created, and work continues when it is back`, async () => {
      await withTempFolder(async parent => {
        const dir = join(parent, 'store')
        const moved = join(parent, 'moved')
        const store = open(dir)
        await store.add()
        await rename(dir, moved)
        for (let times = 0; times < 2; times++) {
          await expect(store.add()).rejects.toMatchObject(GONE)
          await expect(store.count()).rejects.toMatchObject(GONE)
        }
        expect(existsSync(dir)).toBe(false)
        await rename(moved, dir)
        await store.add()
        expect(await store.count()).toBe(2)
        await store.close()
        const later = open(dir)
        expect(await later.count()).toBe(2)
        await later.close()
      })
    })

  it('K10: a folder that is moved during a write does not get an acknowledged line', async () => {
    await withTempFolder(async parent => {
      const dir = join(parent, 'store')
      const moved = join(parent, 'moved')
      let mustMove = false
      const files = failingFiles(async (call, path) => {
        if (mustMove && call === 'write' && path.endsWith('.jsonl')) {
          mustMove = false
          await rename(dir, moved)
        }
        return undefined
      })
      const store = new FileDeadLetters(resolveOptions('test', deadLetterRules, { dir }), files)
      const [before, refused, after] = [make.letter(), make.letter(), make.letter()]
      await store.send(before)
      mustMove = true
      await expect(store.send(refused)).rejects.toThrow(
        /jsonl was removed or replaced while it was open; put it back, or restart the service$/,
      )
      expect(existsSync(dir)).toBe(false)
      await rename(moved, dir)
      await store.send(after)
      await store.close()
      const later = fileDeadLetters({ dir })
      const ids = (await later.list()).letters.map(({ id }) => id)
      expect(ids.sort()).toEqual([before.id, after.id].sort())
      await later.close()
    })
  })

  it('K10: removed files of a folder that stays are noticed by the next write, and by every later one', async () => {
    await withTempFolder(async dir => {
      const store = fileDeadLetters({ dir })
      await store.send(make.letter())
      for (const name of await readdir(dir)) await rm(join(dir, name), { recursive: true })
      for (let times = 0; times < 3; times++)
        await expect(store.send(make.letter())).rejects.toThrow(
          /letters-000001\.jsonl was removed or replaced while it was open; put it back, or restart the service$/,
        )
      await store.close()
    })
  })
})

it('E10: a folder that is moved away just as a file begins is not made again', async () => {
  await withTempFolder(async parent => {
    const dir = join(parent, 'store')
    const files = failingFiles(async (call, path) => {
      if (/^make(?:Sub)?[Ff]older$/.test(call) && /\d{4}-\d\d-\d\d$/.test(path))
        await rename(dir, `${dir}-moved`)
      return undefined
    })
    const store = new FileDeadLetters(resolveOptions('test', deadLetterRules, { dir }), files)
    await expect(store.send(make.letter())).rejects.toMatchObject({ code: 'LAZARET_STORE_FAILED' })
    expect(existsSync(dir)).toBe(false)
    await rename(`${dir}-moved`, dir)
    await store.close()
  })
})
