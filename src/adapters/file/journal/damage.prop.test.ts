import { readFile, truncate, writeFile } from 'node:fs/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { filesBelow, withTempFolder } from '../../../../test/support/folder.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { systemRandom } from '../../../ports/clock.ts'
import { createFactory } from '../../../testing/factories.ts'
import { type Damage, fileDeadLetters } from '../index.ts'

const RUNS = { numRuns: 40 }

interface Folder {
  readonly dir: string
  readonly letters: readonly DeadLetter[]
  /** The one file they are in, and where each line begins. */
  readonly path: string
  readonly bytes: Buffer
  readonly starts: readonly number[]
}

/** A folder in which letters were written, one line each, by a process that is gone. */
async function written(dir: string, count: number): Promise<Folder> {
  const make = createFactory()
  const store = fileDeadLetters({ dir })
  const letters = Array.from({ length: count }, () => make.letter())
  for (const letter of letters) await store.send(letter)
  await store.close()
  const [path] = await filesBelow(dir, '.jsonl')
  const bytes = await readFile(path!)
  const starts = [0]
  for (let at = bytes.indexOf(10); at < bytes.length - 1; at = bytes.indexOf(10, at + 1)) starts.push(at + 1)
  return { dir, letters, path: path!, bytes, starts }
}

async function reopened(
  dir: string,
): Promise<{ readonly ids: readonly string[]; readonly damage: Damage[] }> {
  const damage: Damage[] = []
  const store = fileDeadLetters({ dir, onDamage: found => damage.push(found) })
  // A write makes it known whether an end is torn or is being written by someone else.
  await store.delete('no-such-letter')
  const { letters } = await store.list({ limit: 1_000 })
  expect((await store.stats()).count).toBe(letters.length)
  expect((await store.usage()).damaged).toBe(damage.length)
  await store.close()
  return { ids: letters.map(({ id }) => id).sort(), damage }
}

describe('damage to the files', () => {
  it('E10: whatever bits are flipped, every line that was not touched is read, and the others are reported', async () => {
    const flips = fc.array(fc.tuple(fc.nat(), fc.nat(7)), { minLength: 1, maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(flips, flips =>
        withTempFolder(async dir => {
          const { letters, path, bytes, starts } = await written(dir, 8)
          const before = Buffer.from(bytes)
          for (const [where, bit] of flips) bytes[where % bytes.length]! ^= 1 << bit
          await writeFile(path, bytes)
          const whole = letters.filter((_, index) => {
            const [from, to] = [starts[index]!, starts[index + 1] ?? bytes.length]
            const isJoined = index > 0 && bytes[from - 1] !== 10
            return !isJoined && bytes.subarray(from, to).equals(before.subarray(from, to))
          })
          const { ids, damage } = await reopened(dir)
          expect(ids).toEqual(whole.map(({ id }) => id).sort())
          expect(damage.length > 0).toBe(!bytes.equals(before))
        }),
      ),
      RUNS,
    )
  })

  it('E10: cut off anywhere, every whole line is read, and a torn last one is reported', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), cut =>
        withTempFolder(async dir => {
          const { letters, path, bytes, starts } = await written(dir, 6)
          const length = cut % (bytes.length + 1)
          await truncate(path, length)
          const { ids, damage } = await reopened(dir)
          const whole = letters.filter((_, index) => (starts[index + 1] ?? bytes.length) <= length)
          expect(ids).toEqual(whole.map(({ id }) => id).sort())
          const isTorn = length > 0 && bytes[length - 1] !== 10
          expect(damage.map(({ kind }) => kind)).toEqual(isTorn ? ['torn'] : [])
        }),
      ),
      RUNS,
    )
  })

  it('E10: lines after a torn line are read by every later reader', async () => {
    await withTempFolder(async dir => {
      const { letters, path, bytes } = await written(dir, 3)
      await truncate(path, bytes.length - 10)
      const make = createFactory({ random: systemRandom })
      const added = make.letter()
      const store = fileDeadLetters({ dir })
      await store.send(added)
      await store.close()
      const { ids } = await reopened(dir)
      expect(ids).toEqual([letters[0]!.id, letters[1]!.id, added.id].sort())
    })
  })
})
