import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { SqliteFile } from '../../../../test/support/sqlite-file.ts'
import type { Command } from '../../../ports/commands.ts'
import { APPLICATION_ID, MIGRATIONS } from '../connection/schema.ts'
import { openSqlite } from '../index.ts'

const file = new SqliteFile()
afterAll(() => file.remove())

function commandOf(id: string): Command {
  return { v: 1, id, request: 'request', task: { kind: 'pause' }, recipients: ['a', 'b'], by: 'ann' }
}

describe('commands in a sqlite file', () => {
  it('B17: are kept in a file that an earlier version made, and found by the index', async () => {
    const { path } = file
    const db = new DatabaseSync(path)
    for (const step of MIGRATIONS.slice(0, 4)) db.exec(step)
    db.exec(`pragma user_version = 4; pragma application_id = ${APPLICATION_ID}`)
    db.close()
    const store = openSqlite({ path })
    await store.commands.send([commandOf('one')], 60_000)
    expect(await store.commands.claim('b', 1)).toEqual([commandOf('one')])
    await store.close()
    const plan = file.with(db =>
      db.prepare('explain query plan select 1 from recipients where instance = ? limit 1').all('a'),
    )
    expect(plan.map(({ detail }) => detail)).toEqual(['SEARCH recipients USING PRIMARY KEY (instance=?)'])
  })

  it('B17: one that cannot be read does not hold up the others', async () => {
    const store = openSqlite({ path: file.path })
    await store.commands.send([commandOf('broken'), commandOf('whole')], 60_000)
    file.with(db => db.prepare("update commands set body = 'not json' where id = 'broken'").run())
    expect(await store.commands.claim('a', 10)).toEqual([commandOf('whole')])
    const listed = (await store.commands.list(10)).map(({ command }) => command.id)
    expect([listed.includes('whole'), listed.includes('broken')]).toEqual([true, false])
    await store.close()
  })

  it('B17: a claim that finds nothing does not wait for a writer, and claimed commands leave no recipients', async () => {
    const { path } = file
    const store = openSqlite({ path, busyTimeoutMs: 0 })
    await store.commands.send([commandOf('two')], 60_000)
    expect(await store.commands.claim('a', 10)).toEqual([commandOf('two')])
    const other = new DatabaseSync(path)
    other.exec('begin immediate')
    expect(await store.commands.claim('b', 10)).toEqual([])
    other.exec('rollback')
    other.close()
    expect(file.with(db => db.prepare('select * from recipients').all())).toEqual([])
    await store.close()
  })

  it('B17: one that is over is shown so also while another process writes', async () => {
    const { path } = file
    const store = openSqlite({ path, busyTimeoutMs: 0 })
    await store.commands.send([{ ...commandOf('three'), request: 'over' }], 60_000)
    file.with(db => db.prepare("update commands set sent_at = 0 where id = 'three'").run())
    const other = new DatabaseSync(path)
    other.exec('begin immediate')
    expect(await store.commands.get('over')).toMatchObject([{ state: 'expired' }])
    other.exec('rollback')
    other.close()
    await store.close()
  })
})
