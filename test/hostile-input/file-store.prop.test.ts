import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fileJournal, fileStore } from '../../src/adapters/file/index.ts'
import { mostLineBytes, writeLine } from '../../src/adapters/file/journal/line.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { filesBelow, withTempFolder } from '../support/folder.ts'
import { cases, damagedJson, hostileBytes, hostileText } from './arbitraries.ts'

const RUNS = cases(8)
const NEWLINE = Buffer.from('\n')

/** A line with the right checksum, as a later version or a person with an editor could leave it. */
function intactLine(kind: string, text: string): Buffer {
  const record = { kind, text: text.replaceAll('\n', ' ') }
  const buffer = Buffer.alloc(mostLineBytes(record))
  return buffer.subarray(0, writeLine(buffer, 0, record))
}

const KINDS = ['put', 'delete', 'triage', 'entry', 'other']

/** Lines of strangers: some have the right checksum, some have none. Records that are nearly right are the worst. */
function lines(valid: unknown): fc.Arbitrary<readonly Buffer[]> {
  const text = fc.oneof(
    hostileText,
    damagedJson(valid).map(value => JSON.stringify(value) ?? 'null'),
  )
  const intact = fc.tuple(fc.constantFrom(...KINDS), text).map(([kind, each]) => intactLine(kind, each))
  const foreign = hostileBytes.map(bytes => Buffer.concat([bytes, NEWLINE]))
  return fc.array(fc.oneof({ weight: 3, arbitrary: intact }, { weight: 1, arbitrary: foreign }), {
    minLength: 1,
    maxLength: 6,
  })
}

async function addToEachJournal(dir: string, added: readonly Buffer[]): Promise<void> {
  for (const path of await filesBelow(dir, '.jsonl')) await appendFile(path, Buffer.concat(added))
}

describe('lines that another program wrote to a journal', () => {
  it('E10: hide no letter, no triage and no entry of the audit log', async () => {
    const change = { group: 'g', change: { at: 1, by: 'ann', state: 'resolved', note: 'x' } }
    const entry = { at: 1, by: 'ann', action: 'letter.discard', target: 'x', detail: {} }
    await fc.assert(
      fc.asyncProperty(lines(change), lines(entry), (triage, audit) =>
        withTempFolder(async dir => {
          const make = createFactory()
          const letters = [make.letter(), make.letter()]
          const before = fileStore({ dir })
          for (const letter of letters) await before.deadLetters.send(letter)
          const [group] = (await before.groups.list()).groups
          await before.groups.change(group!.id, { at: 1, by: 'ann', note: 'known' })
          await before.audit.append({ at: 1, by: 'ann', action: 'note', target: 'known' })
          await before.close()
          await addToEachJournal(dir, [...triage, ...audit])
          const after = fileStore({ dir })
          const later = make.letter()
          await after.deadLetters.send(later)
          const listed = (await after.deadLetters.list()).letters.map(({ id }) => id)
          for (const { id } of [...letters, later]) expect(listed).toContain(id)
          expect((await after.groups.get(group!.id))?.notes).toContainEqual({
            at: 1,
            by: 'ann',
            text: 'known',
          })
          expect((await after.audit.list({ target: 'known' })).entries).toHaveLength(1)
          await after.close()
        }),
      ),
      RUNS,
    )
  })

  it('E7: hide no event that waits for its sink', async () => {
    const entry = { id: 'x', event: '{}', sinks: ['loki'] }
    await fc.assert(
      fc.asyncProperty(lines(entry), added =>
        withTempFolder(async dir => {
          const folder = join(dir, 'journal')
          const [event] = createFactory().events(1)
          const before = fileJournal({ dir: folder })
          await before.append({ event: event!, sinks: ['crm'] })
          await before.close()
          await addToEachJournal(folder, added)
          const after = fileJournal({ dir: folder })
          const { entries } = await after.pending()
          expect(entries.map(each => each.event.id)).toContain(event!.id)
          await after.close()
        }),
      ),
      RUNS,
    )
  })
})
