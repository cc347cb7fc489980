import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { findPostgres } from '../../test/services/postgres.ts'
import { cliWorld } from '../../test/support/cli.ts'
import { checkEveryVerb, LINES, OpenStores, sortedLines } from '../../test/support/cli-stores.ts'
import { make, OutboxWorld, settleAsDead } from '../../test/support/outbox-world.ts'
import { TestDatabase } from '../../test/support/postgres.ts'
import { migratePostgres } from '../adapters/postgres/index.ts'
import { systemClock } from '../ports/clock.ts'
import type { Check } from './doctor/check.ts'

const found = await findPostgres()
const server = found.found ? await found.start() : undefined
const database = server && (await TestDatabase.migrated(server))
const folder = await mkdtemp(join(tmpdir(), 'lazaret-postgres-cli-'))
const stores = new OpenStores()
const world = new OutboxWorld(database!)
afterEach(async () => {
  await stores.close()
  await world.close()
  await database?.clear()
})
afterAll(async () => {
  await database?.close()
  await server?.close()
  await rm(folder, { recursive: true })
})
const why = found.found ? '' : ` (skipped: ${found.why})`
const { lazaretWith } = cliWorld(folder)

describe.runIf(found.found)(`lazaret outbox${why}`, () => {
  it('S1: migrate makes the schema, once; status tells what there is', async () => {
    const empty = await TestDatabase.empty(server!)
    try {
      const on = { env: { LAZARET_STORE: empty.url } }
      expect(await lazaretWith(on, 'outbox', 'status')).toMatchObject({
        code: 1,
        err: 'lazaret: postgres: schema lazaret is not there; bring the schema up to date with: lazaret outbox migrate\n',
      })
      expect(await lazaretWith(on, 'dlq', 'list')).toMatchObject({ code: 1, out: '' })
      const printed = await lazaretWith({}, 'outbox', 'migrate', '--print')
      expect(printed.out).toContain('create table lazaret.outbox')
      expect((await lazaretWith(on, 'outbox', 'migrate', '--json')).json).toEqual([
        { version: 13, applied: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13] },
      ])
      expect(await lazaretWith(on, 'outbox', 'migrate')).toMatchObject({
        code: 0,
        out: '',
        err: 'schema lazaret was already up to date, version 13\n',
      })
      expect((await lazaretWith(on, 'outbox', 'status')).err).toContain('no event is enqueued')
    } finally {
      await empty.close()
    }
  })

  it('F8: the doctor says that text searches of many letters have no index, and how to make it', async ctx => {
    const large = await TestDatabase.empty(server!)
    try {
      await migratePostgres(large.pool)
      const on = { env: { LAZARET_STORE: large.url } }
      const search = async () => {
        const { json } = await lazaretWith(on, 'doctor', '--json')
        return json[0].checks.find(({ name }: Check) => name === 'search')
      }
      expect(await search()).toMatchObject({ status: 'ok' })
      await large.addLetterRows(20_001)
      const { status, found, remedy } = await search()
      expect(status).toBe('warn')
      expect(found).toBe('a text search has no index, and reads up to 20 001 letters')
      const { rows } = await large.pool.query(`select from pg_available_extensions where name = 'pg_trgm'`)
      if (rows.length === 0) ctx.skip('the server has no pg_trgm')
      for (const statement of remedy.split('; ')) await large.pool.query(statement)
      expect(await search()).toMatchObject({ status: 'ok', found: 'a text search uses an index' })
    } finally {
      await large.close()
    }
  })

  it('S6: status tells how far the events of each handler are', async () => {
    const outbox = world.process()
    const inbox = await world.subscribe(outbox, 'orders', { prefetch: 3 })
    await outbox.publish(make.events(5, { channel: 'orders' }))
    await outbox.publish(make.events(1, { channel: 'nobodys' }))
    const [dead, later] = await inbox.take(2)
    inbox.subscription.pause()
    await settleAsDead(inbox, dead!)
    const notBefore = systemClock.now() + 3_600_000
    await inbox.subscription.settle(later!, { outcome: 'retry', notBefore, ended: [] })
    const on = { env: { LAZARET_STORE: database!.url } }
    const { json } = await lazaretWith(on, 'outbox', 'status', '--json')
    const handlers = json[0].handlers.map(({ oldestPendingAt, ...each }: Record<string, unknown>) => each)
    expect({ ...json[0], handlers }).toEqual({
      version: 13,
      consumers: 1,
      handlers: [
        { channel: 'nobodys', handler: null, isByKey: false, pending: 1, waiting: 0, inFlight: 0, failed: 0 },
        {
          channel: 'orders',
          handler: 'bill',
          isByKey: false,
          pending: 2,
          waiting: 1,
          inFlight: 1,
          failed: 1,
        },
      ],
    })
    expect((await lazaretWith(on, 'outbox', 'status')).out).toMatch(/orders\s+bill\s+2\s+1\s+1\s+1/)
  })

  it('F8: a store that has no outbox, a dead server, a wrong password: one line each', async () => {
    const told = async (url: string) => lazaretWith({ env: { LAZARET_STORE: url } }, 'outbox', 'status')
    expect(await told('sqlite:./x.db')).toMatchObject({
      code: 2,
      err: expect.stringMatching(/has no outbox, .*\n$/),
    })
    const dead = await told('postgres://ann:hunter2@127.0.0.1:1/x')
    expect(dead).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^lazaret: .*check that the server runs.*\n$/),
    })
    expect(dead.err).not.toContain('hunter2')
  })
})

describe.runIf(found.found)(`a Postgres store on the command line${why}`, () => {
  it('F8: every verb that needs no consumer does its work', () =>
    checkEveryVerb(stores.on(database!.url, folder)))

  it.each(['sqlite:./there.db', 'file:./there'])('F8: letters move to %s and back unchanged', async url => {
    const [source, target] = [stores.on(database!.url, folder), stores.on(url, folder)]
    expect(await source(LINES.join('\n'), 'dlq', 'import')).toMatchObject({ code: 0, err: '' })
    const exported = await source('', 'dlq', 'export')
    expect(sortedLines(exported.out)).toEqual([...LINES].sort())
    expect(await target(exported.out, 'dlq', 'import')).toMatchObject({ code: 0, err: '' })
    expect((await target('', 'dlq', 'export')).out).toBe(exported.out)
    await database!.clear()
    expect(await source(exported.out, 'dlq', 'import')).toMatchObject({ code: 0, err: '' })
    expect((await source('', 'dlq', 'export')).out).toBe(exported.out)
  })

  it('F7: with a key in the config, letters and events are sealed in the tables', async () => {
    const key = Buffer.alloc(32, 1).toString('base64')
    const sealed = join(folder, 'sealed.yaml')
    await writeFile(sealed, `sealing: { current: k1, keys: { k1: "${key}" } }`)
    const lazaret = stores.on(database!.url, folder)
    await lazaret(LINES.join('\n'), 'dlq', 'import', '--config', sealed)
    const exported = await lazaret('', 'dlq', 'export', '--config', sealed)
    expect(sortedLines(exported.out)).toEqual([...LINES].sort())
    const stored = await database!.rows<{ body: string }>('select body from lazaret.dead_letters')
    expect(stored.every(({ body }) => body.includes('"sealed":"2.k1.'))).toBe(true)
  })
})
