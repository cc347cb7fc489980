import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { SqliteFile } from '../../../../test/support/sqlite-file.ts'
import { snapshotOf } from '../../../testing/conformance/store/snapshots.ts'
import { APPLICATION_ID, MIGRATIONS } from '../connection/schema.ts'
import { openSqlite } from '../index.ts'

const file = new SqliteFile()
afterAll(() => file.remove())

describe('snapshots in a sqlite file', () => {
  it('K7: are kept in a file that an earlier version made, and asked for by the index', async () => {
    const { path } = file
    const db = new DatabaseSync(path)
    for (const step of MIGRATIONS.slice(0, 2)) db.exec(step)
    db.exec(`pragma user_version = 2; pragma application_id = ${APPLICATION_ID}`)
    db.close()
    const store = openSqlite({ path })
    await store.snapshots.append([snapshotOf('orders', 1)])
    expect(await store.snapshots.list()).toEqual([snapshotOf('orders', 1)])
    await store.close()
    const plan = file.with(db =>
      db
        .prepare(
          `explain query plan
           select body from snapshots where channel = ? and at >= ? and at < ? order by at desc limit ?`,
        )
        .all('orders', 0, 1, 10),
    )
    expect(plan.map(({ detail }) => detail)).toEqual([
      'SEARCH snapshots USING PRIMARY KEY (channel=? AND at>? AND at<?)',
    ])
  })
})
