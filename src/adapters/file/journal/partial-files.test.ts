import { expect, it } from 'vitest'
import { failingFiles } from '../../../../test/support/failing-files.ts'
import { withTempFolder } from '../../../../test/support/folder.ts'
import { systemClock } from '../../../ports/clock.ts'
import { seededRandom } from '../../../testing/seeded-random.ts'
import type { Decision } from './commits.ts'
import { realFiles } from './files.ts'
import { openJournal } from './journal.ts'
import type { JournalUser } from './segment-set.ts'

it('E10: no acknowledged record is lost, although the disk fails while the files are read again before a write', async () => {
  await withTempFolder(async dir => {
    let failing: string | undefined
    let isSynced = false
    const files = failingFiles((call, path) => {
      // Its first sync fails, so that the third file is the second of its number.
      if (call === 'datasync' && path.includes('000003') && !isSynced) {
        isSynced = true
        return 'EIO'
      }
      return call === 'sizeOf' && failing !== undefined && path.includes(failing) ? 'EIO' : undefined
    })
    const settings = { dir, prefix: 'texts', rotateBytes: 1, clock: systemClock, random: seededRandom(1) }
    const open = async (over: typeof files) => {
      const texts: string[] = []
      const user: JournalUser = { apply: ({ text }) => texts.push(text), reset: () => texts.splice(0) }
      return { texts, journal: await openJournal({ ...settings, files: over, onDamage: () => {} }, user) }
    }
    const { journal } = await open(files)
    const writing = (text: string, before = () => {}) =>
      journal.decide((): Decision<string> => {
        before()
        return { records: [{ kind: 'text', text }], written: () => text }
      })
    const acknowledged = [await writing('"one"'), await writing('"two"'), await writing('"three"')]
    const lost = writing('"four"', () => {
      journal.segments.last!.hasUnread = true
      failing = '000002'
    })
    const reading = journal.refreshFiles().catch(() => {})
    await lost.then(text => acknowledged.push(text)).catch(() => {})
    await reading
    failing = undefined
    acknowledged.push(await writing('"five"'))
    await journal.close()
    const { texts, journal: later } = await open(realFiles)
    expect(acknowledged.filter(text => !texts.includes(text))).toEqual([])
    await later.close()
  })
})
