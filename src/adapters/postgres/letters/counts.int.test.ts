import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { findPostgres } from '../../../../test/services/postgres.ts'
import { TestDatabase } from '../../../../test/support/postgres.ts'
import { TestTiming } from '../../../testing/conformance/harness.ts'
import { createFactory } from '../../../testing/factories.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { openPostgres } from '../store.ts'

const CHANGES = 60_000

const timing = new TestTiming({})
const found = await findPostgres()
const server = found.found ? await found.start() : undefined
const database = server && (await TestDatabase.migrated(server))
const store = database && openPostgres({ pool: database.pool })
afterEach(() => database?.pool.query('truncate lazaret.dead_letters'))
afterAll(async () => {
  await store?.close()
  await database?.close()
  await server?.close()
})

async function rowsIn(table: string): Promise<number> {
  const [row] = await database!.rows<{ count: number }>(
    `select count(*)::float8 as count from lazaret.${table}`,
  )
  return row!.count
}

/** The counts of the store, and what the letters themselves say. */
async function bothCounts() {
  const { count, byState } = await store!.deadLetters.stats()
  return { counted: count, stored: await rowsIn('dead_letters'), byState }
}

describe.runIf(found.found)(`counts of letters${found.found ? '' : ` (skipped: ${found.why})`}`, () => {
  it('E9: statements of people change the counts as those of the store do', async () => {
    const { pool } = database!
    const make = createFactory({ clock: new FakeClock() })
    for (let at = 0; at < 10; at++) await store!.deadLetters.send(make.letter())
    await pool.query(`update lazaret.dead_letters set state = 'parked'
      where id in (select id from lazaret.dead_letters order by id limit 4)`)
    expect(await bothCounts()).toEqual({ counted: 10, stored: 10, byState: { dead: 6, parked: 4 } })
    await pool.query(`delete from lazaret.dead_letters where state = 'parked'`)
    expect(await bothCounts()).toEqual({ counted: 6, stored: 6, byState: { dead: 6 } })
    const client = await pool.connect()
    await client.query('begin; delete from lazaret.dead_letters; rollback')
    client.release()
    expect(await bothCounts()).toMatchObject({ counted: 6, stored: 6 })
    await pool.query('truncate lazaret.dead_letters')
    expect(await bothCounts()).toEqual({ counted: 0, stored: 0, byState: {} })
  })

  it('E9: letters that are truncated while their counts are added up leave no counts', async () => {
    const { pool } = database!
    const make = createFactory({ clock: new FakeClock() })
    for (let at = 0; at < 3; at++) await store!.deadLetters.send(make.letter())
    const folding = await pool.connect()
    await folding.query('begin')
    await folding.query(`with gone as (delete from lazaret.letter_counts returning *)
      insert into lazaret.letter_counts select facet, sum(letters), sum(replayed) from gone group by facet`)
    const truncated = pool.query('truncate lazaret.dead_letters')
    const waiting = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like 'truncate%'`
    await expect.poll(async () => (await pool.query(waiting)).rowCount).toBe(1)
    await folding.query('commit')
    folding.release()
    await truncated
    expect(await rowsIn('letter_counts')).toBe(0)
  })

  it('E9: many changes are added up, while others write, and the counts stay the same', async () => {
    const make = createFactory({ clock: new FakeClock() })
    await store!.deadLetters.send(make.letter())
    await database!.pool.query(`insert into lazaret.letter_counts
      select facet, case when n % 2 = 0 then 1 else -1 end, 0 from lazaret.letter_counts, generate_series(1, ${CHANGES}) n`)
    const letters = Array.from({ length: 200 }, () => make.letter())
    await Promise.all([
      ...letters.map(letter => store!.deadLetters.send(letter)),
      ...Array.from({ length: 20 }, () => store!.deadLetters.stats()),
    ])
    expect(await bothCounts()).toEqual({ counted: 201, stored: 201, byState: { dead: 201 } })
    await timing.eventually(async () => (await rowsIn('letter_counts')) < 1_000, 'the changes are added up')
    expect(await bothCounts()).toEqual({ counted: 201, stored: 201, byState: { dead: 201 } })
  })
})
