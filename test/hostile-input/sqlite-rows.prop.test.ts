import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { openSqlite } from '../../src/adapters/sqlite/index.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { cases, hostileText } from './arbitraries.ts'
import {
  changedLettersHideNobody,
  changedReplaysHideNobody,
  manyChangedLettersHideNobody,
} from './store-rows.ts'

const RUNS = cases(20)
const storable = hostileText.filter(text => text.isWellFormed() && !text.includes('\0'))

// Starting the threads of a store takes longer than its tests.
const folder = mkdtempSync(join(tmpdir(), 'lazaret-'))
const path = join(folder, 'lazaret.db')
const store = openSqlite({ path })
const db = new DatabaseSync(path)
db.exec('pragma busy_timeout = 5000')
const change = (table: 'letters' | 'replays') => async (id: string, text: string) =>
  void db.prepare(`update ${table} set body = ? where id = ?`).run(text, id)
const changeable = { store, changeLetter: change('letters'), changeReplay: change('replays') }

afterAll(async () => {
  db.close()
  await store.close()
  rmSync(folder, { recursive: true })
})

describe('a row of SQLite that another program changed', () => {
  it('E9: hides no other letter, and the letter can be saved again', () =>
    changedLettersHideNobody(changeable, RUNS))

  it('E9: hides no letter behind it, however many there are', () => manyChangedLettersHideNobody(changeable))

  it('K8: hides no other replay', () => changedReplaysHideNobody(changeable, RUNS))

  it('E7: keeps no other event of the journal from its sinks', async () => {
    const { journal } = store
    const [first, second] = createFactory().events(2)
    await journal.append({ event: first!, sinks: ['loki'] })
    await journal.append({ event: second! })
    await fc.assert(
      fc.asyncProperty(storable, async text => {
        db.prepare('update journal set sinks = ? where id = ?').run(text, first!.id)
        expect((await journal.pending()).entries.map(({ event }) => event.id)).toContain(second!.id)
      }),
      RUNS,
    )
  })
})
