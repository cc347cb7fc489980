import { describe, expect, it } from 'vitest'
import { withTempFolder } from '../../../../test/support/folder.ts'
import { createSealing } from '../../../runtime/sealing/sealing.ts'
import { recordingDeadLetters } from '../../../testing/dead-letters.ts'
import { createFactory } from '../../../testing/factories.ts'
import { fileSpill } from '../index.ts'

const [k1, k2] = ['1', '2'].map(digit => Buffer.alloc(32, digit).toString('base64')) as [string, string]

describe('a spill whose letters are sealed', () => {
  it('B7: reports letters whose key is missing, keeps them, and moves the others', async () => {
    await withTempFolder(async dir => {
      const make = createFactory()
      const [old, recent] = [make.letter(), make.letter()]
      for (const [letter, keys] of [
        [old, { k1 }],
        [recent, { k2 }],
      ] as const) {
        const spill = fileSpill({ dir, codec: createSealing({ current: Object.keys(keys)[0]!, keys }) })
        await spill.send(letter)
        await spill.close()
      }
      const spill = fileSpill({ dir, codec: createSealing({ current: 'k2', keys: { k2 } }) })
      const target = recordingDeadLetters()
      const errors: unknown[] = []
      expect(await spill.drain(target, error => errors.push(error))).toBe(1)
      expect(target.all).toEqual([recent])
      expect(errors).toMatchObject([{ code: 'LAZARET_SEAL_UNOPENED' }])
      expect(await spill.size()).toBe(1)
      await spill.close()
      const withBoth = fileSpill({ dir, codec: createSealing({ current: 'k2', keys: { k1, k2 } }) })
      expect(await withBoth.drain(target)).toBe(1)
      expect(target.all).toEqual([recent, old])
      await withBoth.close()
    })
  })
})
