import { readFile, truncate, writeFile } from 'node:fs/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { failingFiles } from '../../../../test/support/failing-files.ts'
import { filesBelow, withTempFolder } from '../../../../test/support/folder.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { resolveOptions } from '../../../core/options/resolve.ts'
import { createDispatcher } from '../../../runtime/dispatcher/dispatcher.ts'
import { createFactory } from '../../../testing/factories.ts'
import { memoryDeadLetters } from '../../memory/index.ts'
import { type Damage, FileSpill, fileDeadLetters, fileJournal, fileSpill } from '../index.ts'
import { spillRules } from '../letters/spill.ts'

const LINES = 20

interface Part {
  /** Adds a line. */
  add(): Promise<void>
  /** The number of letters or events that can be read. */
  count(): Promise<number>
  usage(): Promise<{ readonly damaged: number; readonly damagedFiles: readonly object[] }>
  close(): Promise<void>
}
type OpenPart = (options: {
  readonly dir: string
  readonly rotateBytes?: number | undefined
  readonly onDamage?: ((damage: Damage) => void) | undefined
}) => Part

const make = createFactory()
const PARTS: readonly [string, OpenPart][] = [
  [
    'the spill',
    options => {
      const spill = fileSpill(options)
      return {
        add: () => spill.send(make.letter()),
        count: () => spill.size(),
        usage: () => spill.usage(),
        close: () => spill.close(),
      }
    },
  ],
  [
    'the journal',
    options => {
      const journal = fileJournal(options)
      return {
        add: () => journal.append({ event: make.event() }),
        count: async () => (await journal.pending()).entries.length,
        usage: () => journal.usage(),
        close: () => journal.close(),
      }
    },
  ],
  [
    'the store of letters',
    options => {
      const store = fileDeadLetters(options)
      return {
        add: () => store.send(make.letter()),
        count: async () => (await store.list({ limit: 1_000 })).letters.length,
        usage: () => store.usage(),
        close: () => store.close(),
      }
    },
  ],
]

/** Writes the lines and closes. Returns the file that holds them. */
async function written(open: OpenPart, dir: string): Promise<string> {
  const part = open({ dir })
  for (let line = 0; line < LINES; line++) await part.add()
  await part.close()
  return (await filesBelow(dir, '.jsonl'))[0]!
}

async function flipBit(path: string, line: number): Promise<void> {
  const bytes = await readFile(path)
  let at = 0
  for (let passed = 0; passed < line; passed++) at = bytes.indexOf('\n', at) + 1
  bytes[at + 200]! ^= 1
  await writeFile(path, bytes)
}

async function cutLastLine(path: string): Promise<void> {
  await truncate(path, (await readFile(path)).length - 40)
}

describe.each(PARTS)('damage to the files of %s', (_, open) => {
  let warnings: string[] = []
  beforeEach(() => {
    warnings = []
    vi.spyOn(process, 'emitWarning').mockImplementation(text => void warnings.push(String(text)))
  })
  afterEach(() => {
    vi.restoreAllMocks()
  })

  it.each([
    ['a bit was flipped', (path: string) => flipBit(path, 3), 'the line at byte'],
    ['the last line was cut', cutLastLine, 'the last line'],
  ])('E10: %s: a warning names the file by default, and usage counts it', async (_, hurt, words) => {
    await withTempFolder(async dir => {
      const path = await written(open, dir)
      await hurt(path)
      const part = open({ dir })
      expect(await part.count()).toBe(LINES - 1)
      expect(warnings).toHaveLength(1)
      expect(warnings[0]).toContain(`${path}: ${words}`)
      expect(warnings[0]).toContain('lazaret doctor')
      expect(await part.usage()).toMatchObject({ damaged: 1, damagedFiles: [{ path, damaged: 1 }] })
      await part.close()
    })
  })

  it('E10: many damaged lines of a file are one warning', async () => {
    await withTempFolder(async dir => {
      const path = await written(open, dir)
      for (const line of [2, 4, 6]) await flipBit(path, line)
      const part = open({ dir })
      expect(await part.count()).toBe(LINES - 3)
      expect(warnings).toHaveLength(1)
      expect(await part.usage()).toMatchObject({ damaged: 3, damagedFiles: [{ path, damaged: 3 }] })
      await part.close()
    })
  })

  it('E10: onDamage replaces the warning', async () => {
    await withTempFolder(async dir => {
      const path = await written(open, dir)
      await flipBit(path, 3)
      const damage: Damage[] = []
      const part = open({ dir, onDamage: found => damage.push(found) })
      await part.count()
      expect([damage.length, warnings.length]).toEqual([1, 0])
      await part.close()
    })
  })

  it('E10: lines that an editor ended with CRLF are read', async () => {
    await withTempFolder(async dir => {
      const path = await written(open, dir)
      await writeFile(path, (await readFile(path, 'utf8')).replaceAll('\n', '\r\n'))
      const part = open({ dir })
      expect(await part.count()).toBe(LINES)
      await part.add()
      await part.close()
      const again = open({ dir })
      expect(await again.count()).toBe(LINES + 1)
      expect([await again.usage(), warnings]).toMatchObject([{ damaged: 0, damagedFiles: [] }, []])
      await again.close()
    })
  })

  it('E10: a file that is cut under a running process is reported by the next write', async () => {
    await withTempFolder(async dir => {
      const damage: Damage[] = []
      const part = open({ dir, onDamage: found => damage.push(found) })
      for (let line = 0; line < LINES; line++) await part.add()
      const path = (await filesBelow(dir, '.jsonl'))[0]!
      const { length } = await readFile(path)
      await truncate(path, 0)
      for (let line = 0; line < 10; line++) await part.add()
      expect(damage).toEqual([{ kind: 'shrunk', path, offset: 0, bytes: length }])
      expect(await part.count()).toBe(10)
      expect(await part.usage()).toMatchObject({ damaged: 1, damagedFiles: [{ path, damaged: 1 }] })
      await part.close()
    })
  })

  it('E10: a file that is cut is reported by another process that has read it', async () => {
    await withTempFolder(async dir => {
      const damage: Damage[] = []
      const reader = open({ dir, onDamage: found => damage.push(found) })
      const path = await written(open, dir)
      expect(await reader.count()).toBe(LINES)
      await truncate(path, 0)
      const writer = open({ dir })
      await writer.add()
      await writer.close()
      await reader.count()
      expect(damage.find(({ kind }) => kind === 'shrunk')).toMatchObject({ path })
      await reader.close()
    })
  })
})

describe('files with damaged lines', () => {
  /** Damages the first file of a spill, then lets everything in it be drained and rewritten. */
  async function drained(dir: string, hurt: (path: string) => Promise<void>) {
    const options = { dir, rotateBytes: 2_000, onDamage: () => {} }
    const spill = fileSpill(options)
    for (let sent = 0; sent < 3; sent++) await spill.send(make.letter())
    await spill.close()
    const path = (await filesBelow(dir, '.jsonl'))[0]!
    await hurt(path)
    const before = await readFile(path)
    const again = fileSpill(options)
    const target = memoryDeadLetters()
    for (let round = 0; round < 20; round++) {
      for (let sent = 0; sent < 5; sent++) await again.send(make.letter())
      await again.drain(target)
    }
    await again.close()
    return { path, before, options }
  }

  it('E10: a flipped bit keeps the file when everything else in it is gone', async () => {
    await withTempFolder(async dir => {
      const { path, before } = await drained(dir, hurt => flipBit(hurt, 1))
      expect(await readFile(path)).toEqual(before)
    })
  })

  it('E10: a torn end is moved to its own file when its file is rewritten, and stays there', async () => {
    await withTempFolder(async dir => {
      const { before, options } = await drained(dir, cutLastLine)
      const [aside, ...others] = await filesBelow(dir, '.damaged')
      expect(others).toEqual([])
      expect(await readFile(aside!)).toEqual(before.subarray(before.lastIndexOf('\n') + 1))
      const spill = fileSpill(options)
      await spill.send(make.letter())
      expect(await spill.usage()).toMatchObject({ damaged: 0, setAside: [aside] })
      await spill.close()
      expect((await filesBelow(dir, '.jsonl')).length).toBeLessThan(8)
    })
  })

  it('E10: a torn end keeps its file while the disk is too full to set the end aside', async () => {
    await withTempFolder(async dir => {
      const earlier = fileSpill({ dir, rotateBytes: 1 })
      for (let sent = 0; sent < 3; sent++) await earlier.send(make.letter())
      await earlier.close()
      const path = (await filesBelow(dir, '.jsonl'))[0]!
      const torn = Buffer.concat([await readFile(path), Buffer.from('{"crc":"')])
      await writeFile(path, torn)
      let isFull = false
      const files = failingFiles((call, written) =>
        isFull && call === 'write' && !written.endsWith('turn') ? 'ENOSPC' : undefined,
      )
      const options = resolveOptions('test', spillRules, { dir, rotateBytes: 1, onDamage: () => {} })
      const spill = new FileSpill(options, files)
      expect(await spill.size()).toBe(3)
      isFull = true
      await spill.drain(memoryDeadLetters())
      expect(await readFile(path)).toEqual(torn)
      isFull = false
      await spill.close()
    })
  })

  it('K10: the dispatcher reports the damaged lines of its journal, and sends the other events', async () => {
    await withTempFolder(async dir => {
      const earlier = fileJournal({ dir })
      for (const event of make.events(LINES)) await earlier.append({ event })
      await earlier.close()
      const [path] = await filesBelow(dir, '.jsonl')
      for (const line of [2, 4]) await flipBit(path!, line)
      const failures: unknown[] = []
      const sent: string[] = []
      const allSent = Promise.withResolvers<void>()
      const events = createDispatcher({
        sinks: {
          sink: {
            async write(batch) {
              sent.push(...batch.map(({ id }) => id))
              if (sent.length === LINES - 2) allSent.resolve()
            },
          },
        },
        deadLetters: memoryDeadLetters(),
        journal: fileJournal({ dir, onDamage: () => {} }),
        observer: { journalFailed: ({ error }) => failures.push(error) },
      })
      await allSent.promise
      expect(failures).toMatchObject([
        { code: 'LAZARET_STORE_DAMAGED', path, message: expect.stringContaining('2 damaged lines') },
      ])
      await events.close()
    })
  })

  it('E10: usage of the spill reads every letter, also those of files with an index', async () => {
    await withTempFolder(async dir => {
      const options = { dir, rotateBytes: 4_000, onDamage: () => {} }
      const spill = fileSpill(options)
      const letters: DeadLetter[] = Array.from({ length: 30 }, () => make.letter())
      for (const letter of letters) await spill.send(letter)
      await spill.close()
      const [path] = await filesBelow(dir, '.jsonl')
      expect(await filesBelow(dir, '.index')).not.toEqual([])
      await flipBit(path!, 1)
      const again = fileSpill(options)
      expect(await again.usage()).toMatchObject({ damagedFiles: [{ path, damaged: 1 }] })
      expect(await again.size()).toBe(letters.length - 1)
      await again.close()
    })
  })
})
