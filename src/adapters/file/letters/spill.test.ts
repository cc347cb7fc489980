import { describe, expect, it } from 'vitest'
import { type FullableDisk, failingFiles, fullableDisk } from '../../../../test/support/failing-files.ts'
import { filesBelow, withTempFolder } from '../../../../test/support/folder.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { resolveOptions } from '../../../core/options/resolve.ts'
import type { DeadLetterQueue } from '../../../ports/dead-letters.ts'
import { createSealing } from '../../../runtime/sealing/sealing.ts'
import { recordingDeadLetters } from '../../../testing/dead-letters.ts'
import { createFactory } from '../../../testing/factories.ts'
import { seededRandom } from '../../../testing/seeded-random.ts'
import { fileSpill } from '../index.ts'
import { FileSpill, spillRules } from './spill.ts'

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

describe('a spill on a full disk', () => {
  it('B7: gets empty, because removing a file needs no space', async () => {
    await withTempFolder(async dir => {
      const disk = fullableDisk()
      const spill = spillOn(dir, disk)
      const letters = await fill(spill, 5)
      disk.isFull = true
      const target = recordingDeadLetters()
      expect(await spill.drain(target)).toBe(5)
      expect(target.all).toEqual(letters)
      expect(await spill.size()).toBe(0)
      expect(await spill.drain(target)).toBe(0)
      expect(target.count).toBe(5)
      await spill.close()
      expect(await sizeOf(dir)).toBe(0)
    })
  })

  it('B7: removes later files although an earlier one has a letter that the store refuses', async () => {
    await withTempFolder(async dir => {
      const disk = fullableDisk()
      const spill = spillOn(dir, disk, 1_000)
      const [refused] = await fill(spill, 6)
      expect((await filesBelow(dir, '.jsonl')).length).toBeGreaterThan(4)
      disk.isFull = true
      expect(await spill.drain(refusing(recordingDeadLetters(), refused!))).toBe(5)
      expect(await spill.size()).toBe(1)
      await spill.close()
      expect(await sizeOf(dir)).toBe(1)
    })
  })

  it('B7: does not send a letter again that it could not remove, and does not count it as drained', async () => {
    await withTempFolder(async dir => {
      const disk = fullableDisk()
      const spill = spillOn(dir, disk)
      const [first, refused, last] = await fill(spill, 3)
      disk.isFull = true
      const received = recordingDeadLetters()
      const target = refusing(received, refused!)
      const errors: unknown[] = []
      expect(await spill.drain(target, error => errors.push(error))).toBe(0)
      expect(received.all).toEqual([first, last])
      expect(errors.at(-1)).toMatchObject({ message: expect.stringContaining('ENOSPC') })
      expect(await spill.size()).toBe(3)
      expect(await spill.drain(target)).toBe(0)
      expect(received.count).toBe(2)
      disk.isFull = false
      expect(await spill.drain(target)).toBe(2)
      expect(received.count).toBe(2)
      expect(await spill.size()).toBe(1)
      await spill.close()
      expect(await sizeOf(dir)).toBe(1)
    })
  })

  it('B7: sends the next version of a letter whose earlier version it could not remove', async () => {
    await withTempFolder(async dir => {
      const disk = fullableDisk()
      const spill = spillOn(dir, disk)
      const make = createFactory()
      const [event, refused] = [make.event(), make.letter()]
      for (const letter of [make.letter({ event }), refused]) await spill.send(letter)
      disk.isFull = true
      const received = recordingDeadLetters()
      const target = refusing(received, refused)
      await spill.drain(target)
      disk.isFull = false
      await spill.send(make.letter({ event, replay: 1 }))
      expect(await spill.drain(target)).toBe(1)
      expect(received.all.map(({ cycle }) => cycle.number)).toEqual([0, 1])
      await spill.close()
    })
  })

  it('B7: can be opened, and its letters reach their store', async () => {
    await withTempFolder(async dir => {
      const disk = fullableDisk()
      const earlier = spillOn(dir, disk)
      const letters = await fill(earlier, 3)
      await earlier.close()
      disk.isFull = true
      const spill = spillOn(dir, disk)
      expect(await spill.size()).toBe(3)
      const target = recordingDeadLetters()
      expect(await spill.drain(target)).toBe(3)
      expect(target.all).toEqual(letters)
      await spill.close()
      expect(await sizeOf(dir)).toBe(0)
    })
  })
})

describe('a letter that fails again while its spill is drained', () => {
  /** Two versions of one letter in the first file. The next letter begins the second one, so the first is rewritten. */
  const versions = () => {
    const make = createFactory({ random: seededRandom(2) })
    const event = make.event({ payload: { padding: 'x'.repeat(14_000) } })
    const first = make.letter({ event, at: 1_000 })
    const second = make.letter({ event, at: 3_000, error: new Error('the second failure') })
    const rewritten = async (spill: FileSpill, dir: string) => {
      for (const letter of [second, make.letter(), make.letter()]) await spill.send(letter)
      await expect.poll(async () => (await filesBelow(dir, '.jsonl')).join()).toMatch(/000001\.1\.jsonl/)
    }
    return { first, second, rewritten }
  }

  it('B7: is sent again, also if its line has taken the place of the one that was sent', async () => {
    await withTempFolder(async dir => {
      const { first, second, rewritten } = versions()
      const spill = spillOn(dir, fullableDisk(), 30_000)
      await spill.send(first)
      const received = recordingDeadLetters()
      const target: DeadLetterQueue = {
        ...received,
        send: async letter => {
          await received.send(letter)
          if (received.count === 1) await rewritten(spill, dir)
        },
      }
      await spill.drain(target)
      await spill.drain(target)
      expect(received.all.map(({ cycle }) => cycle.failure?.message)).toContain(second.cycle.failure?.message)
      expect(await spill.size()).toBe(0)
      await spill.close()
    })
  })

  it('B7: is sent again, also if the line that was sent could not be removed', async () => {
    await withTempFolder(async dir => {
      const { first, second, rewritten } = versions()
      const disk = fullableDisk()
      const spill = spillOn(dir, disk, 30_000)
      await spill.send(first)
      const received = recordingDeadLetters()
      const target: DeadLetterQueue = {
        ...received,
        send: async letter => {
          await received.send(letter)
          disk.isAway = true
        },
      }
      expect(await spill.drain(target)).toBe(0)
      disk.isAway = false
      await rewritten(spill, dir)
      await spill.drain(received)
      expect(received.all.map(({ cycle }) => cycle.failure?.message)).toContain(second.cycle.failure?.message)
      expect(await spill.size()).toBe(0)
      await spill.close()
    })
  })
})

function spillOn(dir: string, { faultOf }: FullableDisk, rotateBytes?: number): FileSpill {
  return new FileSpill(resolveOptions('test', spillRules, { dir, rotateBytes }), failingFiles(faultOf))
}

async function fill(spill: FileSpill, count: number): Promise<DeadLetter[]> {
  const make = createFactory()
  const letters = Array.from({ length: count }, () => make.letter())
  for (const letter of letters) await spill.send(letter)
  return letters
}

function refusing(target: DeadLetterQueue, refused: DeadLetter): DeadLetterQueue {
  const send = async (letter: DeadLetter) => {
    if (letter.id === refused.id) throw new Error('this letter is refused')
    await target.send(letter)
  }
  return { send, close: async () => {} }
}

/** The letters that the next process finds. */
async function sizeOf(dir: string): Promise<number> {
  const spill = fileSpill({ dir })
  const size = await spill.size()
  await spill.close()
  return size
}
