import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { SqliteFile } from '../../../../test/support/sqlite-file.ts'
import { groupingOf } from '../../../core/dead-letter/group.ts'
import { encodeLetter } from '../../../core/dead-letter/json.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { createFactory } from '../../../testing/factories.ts'
import { APPLICATION_ID, MIGRATIONS } from '../connection/schema.ts'
import { openSqlite } from '../index.ts'

const file = new SqliteFile()
afterAll(() => file.remove())
const make = createFactory()

/** The version before facets had attempts. */
const BEFORE = 5

/** A file with letters of that version: one facet for each channel, whatever the attempts of its letters. */
function writeBefore(path: string, letters: readonly DeadLetter[], unreadable?: DeadLetter): void {
  const db = new DatabaseSync(path)
  for (const step of MIGRATIONS.slice(0, BEFORE)) db.exec(step)
  db.exec(`pragma user_version = ${BEFORE}; pragma application_id = ${APPLICATION_ID}`)
  const group = groupingOf(letters[0]!).id
  db.prepare('insert into groups values(?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0)').run(
    ...[group, 'title', 'frame', 'basis', 'transient', '', letters.length, letters.length],
  )
  const facet = db.prepare(
    'insert into facets values(?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0) on conflict do nothing',
  )
  const row = db.prepare('insert into letters values(?, ?, ?, ?, ?, 0, 0, ?, ?)')
  for (const [index, letter] of letters.entries()) {
    const { channel, handler, event, cycle, state } = letter
    const fields = [channel, handler, event.type, cycle.reason, cycle.category, state, group]
    const id = 1 + Number(channel.at(-1))
    facet.run(id, JSON.stringify(fields), ...fields)
    const body = letter === unreadable ? 'not JSON' : encodeLetter(letter)
    row.run(index + 1, letter.id, id, cycle.lastFailedAt, cycle.firstFailedAt, '', body)
  }
  db.exec('update facets set count = (select count(*) from letters where facet = facets.id)')
  db.exec(`insert into counters values('letter', ${letters.length})`)
  db.close()
}

describe('a sqlite file of an earlier version', () => {
  it('E9: its letters are listed by attempts, filtered, counted and changed', async () => {
    const letters = Array.from({ length: 12 }, (_, index) =>
      make.letter({
        event: make.event({ channel: `channel-${index % 2}` }),
        attempts: Array.from({ length: 1 + (index % 3) }, (_, at) => make.attempt(at + 1)),
      }),
    )
    writeBefore(file.path, letters)
    const store = openSqlite({ path: file.path })
    const { deadLetters } = store
    const list = async () =>
      (await deadLetters.list({ sort: 'attempts' })).letters.map(each => each.cycle.attemptCount)
    expect(await list()).toEqual([3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1])
    expect((await deadLetters.stats({ channel: 'channel-1' })).count).toBe(6)
    const [first, second] = letters
    await deadLetters.change(first!.id, { to: 'discarded', at: 1 })
    expect(await deadLetters.delete(second!.id)).toBe(true)
    await deadLetters.send(make.letter({ event: make.event({ channel: 'channel-0' }) }))
    expect((await deadLetters.stats()).byState).toEqual({ dead: 11, discarded: 1 })
    expect(await list()).toEqual([3, 3, 3, 3, 2, 2, 2, 1, 1, 1, 1, 1])
    await store.close()
    const facets = file.with(db => db.prepare('select key, count from facets').all())
    const counted = file.with(db =>
      db
        .prepare(
          'select f.key, count(*) as count from letters l join facets f on f.id = l.facet group by f.id',
        )
        .all(),
    )
    expect(counted).toEqual(facets)
    expect(facets.every(({ key }) => JSON.parse(String(key)).length === 8)).toBe(true)
  })

  it('E9: a letter that only a codec can read counts as without attempts until it is written again', async () => {
    const other = new SqliteFile()
    const letters = [make.letter(), make.letter()].map(each => ({ ...each, channel: 'channel-0' }))
    writeBefore(other.path, letters, letters[0])
    const attempts = other.with(db => {
      for (const step of MIGRATIONS.slice(BEFORE)) db.exec(step)
      return db.prepare('select attempts, count from facets order by attempts').all()
    })
    expect(attempts.map(each => ({ ...each }))).toEqual([
      { attempts: 0, count: 1 },
      { attempts: 1, count: 1 },
    ])
    other.remove()
  })
})
