import { Pool } from 'pg'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { findPostgres } from '../../../../test/services/postgres.ts'
import { timing } from '../../../../test/support/outbox-world.ts'
import { TestDatabase } from '../../../../test/support/postgres.ts'
import { uniqueName } from '../../../testing/conformance/harness.ts'
import { createFactory } from '../../../testing/factories.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { openPostgres, postgresLedger, postgresOutbox } from '../index.ts'

const found = await findPostgres()
const server = found.found ? await found.start() : undefined
const database = server && (await TestDatabase.migrated(server))
const clock = new FakeClock()
const make = createFactory({ clock })
const store = database && openPostgres({ pool: database.pool, clock })
const { deadLetters, ledger } = store ?? ({} as NonNullable<typeof store>)
beforeEach(() => database?.clear())
afterAll(async () => {
  await store?.close()
  await database?.close()
  await server?.close()
})
const why = found.found ? '' : ` (skipped: ${found.why})`

describe.runIf(found.found)(`Postgres dead letters${why}`, () => {
  it('P2: characters that Postgres text cannot hold are kept in letters and can be searched', async () => {
    const event = make.event({ payload: { text: 'a\0b\ud800' } })
    const letter = make.letter({ event, error: new Error('broken \0 text') })
    await deadLetters.send(letter)
    expect(await deadLetters.get(letter.id)).toEqual(letter)
    expect((await deadLetters.list({ search: 'BROKEN \0' })).letters).toEqual([letter])
    expect((await deadLetters.list({ channel: 'or\0ders' })).letters).toEqual([])
    expect((await deadLetters.list({ after: -1e300, before: 1e300 })).letters).toEqual([letter])
  })
})

describe.runIf(found.found)(`what a Postgres ledger forgets${why}`, () => {
  it('S8: of its own handlers, what was handled longer ago than it is to be kept or never finished', async () => {
    const { pool } = database!
    const short = postgresLedger({ pool, ledgerRetentionMs: 1 })
    await ledger.record(pool, 'ship', 'kept')
    await short.claim('bill', 'never-finished', 0)
    const handled = async () => (await database!.rows('select 1 from lazaret.event_handled')).length
    for (let key = 0; key < 1_000; key++) await short.record(pool, 'bill', `charge-${key}`)
    await timing.eventually(async () => (await handled()) < 700, 'most are forgotten')
    expect(await short.claim('bill', 'never-finished', 1)).toMatchObject({ kind: 'claimed' })
    expect(await ledger.claim('ship', 'kept', 1)).toMatchObject({ kind: 'done' })
    await short.close()
  })
})

describe.runIf(found.found)(`a Postgres ledger whose connection is killed${why}`, () => {
  /** A pool that runs a statement and then loses the connection before its answer. */
  function losing(statement: RegExp) {
    const { pool } = database!
    let isLost = false
    return {
      connect: () => pool.connect(),
      async query(text: string, values?: unknown[]) {
        const result = await pool.query(text, values)
        if (isLost || !statement.test(text)) return result
        isLost = true
        throw Object.assign(new Error('terminating connection'), { code: '57P01' })
      },
    }
  }

  it('S8: claims at once what it may have claimed before, and nobody else does', async () => {
    const killed = postgresLedger({ pool: losing(/insert into lazaret.event_handled/) })
    await expect(killed.claim('bill', 'a', 60_000)).rejects.toThrow('terminating connection')
    expect(await ledger.claim('bill', 'a', 60_000)).toMatchObject({ kind: 'busy' })
    const claim = await killed.claim('bill', 'a', 60_000)
    expect(claim).toMatchObject({ kind: 'claimed' })
    expect(await killed.claim('bill', 'a', 60_000)).toMatchObject({ kind: 'busy' })
    expect(await killed.complete('bill', 'a', (claim as { token: string }).token)).toBe(true)
    expect(await killed.claim('bill', 'a', 60_000)).toMatchObject({ kind: 'done' })
  })

  it.each([
    ['release', /^delete from lazaret.event_handled where handler = .1 and/, 'claimed'],
    ['complete', /handled_at = clock_timestamp/, 'done'],
  ] as const)('S8: %s: the next claim does not wait for the lease', async (verb, statement, kind) => {
    const killed = postgresLedger({ pool: losing(statement) })
    const { token } = (await killed.claim('bill', 'b', 60_000)) as { token: string }
    await expect(killed[verb]('bill', 'b', token)).rejects.toThrow('terminating connection')
    expect(await killed.claim('bill', 'b', 60_000)).toMatchObject({ kind })
  })

  it('S8: a release that did not arrive does not hold up the next claim', async () => {
    const { pool } = database!
    let isDown = false
    const query = async (text: string, values?: unknown[]) => {
      if (isDown) throw Object.assign(new Error('terminating connection'), { code: '57P01' })
      return pool.query(text, values)
    }
    const killed = postgresLedger({ pool: { connect: () => pool.connect(), query } })
    const { token } = (await killed.claim('bill', 'c', 60_000)) as { token: string }
    isDown = true
    await expect(killed.release('bill', 'c', token)).rejects.toThrow('terminating connection')
    isDown = false
    expect(await killed.claim('bill', 'c', 60_000)).toMatchObject({ kind: 'claimed' })
  })
})

describe.runIf(found.found)(`a pool of one connection${why}`, () => {
  const options = { channel: 'orders', handler: 'bill', prefetch: 1, ordering: 'none' } as const

  it('E21: is refused by a consumer with the remedy, and does to publish with', async () => {
    const pool = new Pool({ connectionString: database!.url, max: 1 })
    const outbox = postgresOutbox({ pool })
    await outbox.publish([make.event({ channel: 'orders' })])
    await expect(outbox.subscribe(options, () => {})).rejects.toThrow(
      /postgres\.pool\.options\.max.*1.*give a pool of at least 2 connections/s,
    )
    await outbox.close()
    await pool.end()
  })

  it('E21: is refused too when it does not tell its size', async () => {
    const pool = new Pool({ connectionString: database!.url, max: 1 })
    const untold = {
      connect: () => pool.connect(),
      query: (text: string, values?: unknown[]) => pool.query(text, values),
    }
    const outbox = postgresOutbox({ pool: untold, clock })
    const refused = expect(outbox.subscribe(options, () => {})).rejects.toThrow(
      'no second connection within 10 s',
    )
    await timing.eventually(async () => pool.waitingCount > 0, 'waiting for the second connection')
    await clock.advance(10_000)
    await refused
    await outbox.close()
    await pool.end()
  })

  it('E21: one that does not tell its size and is large enough is taken', async () => {
    const { pool } = database!
    const untold = {
      connect: () => pool.connect(),
      query: (text: string, values?: unknown[]) => pool.query(text, values),
    }
    const outbox = postgresOutbox({ pool: untold })
    const subscription = await outbox.subscribe(options, () => {})
    await subscription.close()
    await outbox.close()
  })
})

describe.runIf(found.found)(`Postgres ledger in the handler's transaction${why}`, () => {
  /** A handler that writes one row for an event, however often and by however many it is run. */
  async function charge(key: string, end: 'commit' | 'rollback'): Promise<boolean> {
    const tx = await database!.pool.connect()
    try {
      await tx.query('begin')
      const isFirst = await ledger.record(tx, 'bill', key)
      if (isFirst) await tx.query('insert into charges values ($1)', [key])
      await tx.query(end)
      return isFirst
    } finally {
      tx.release()
    }
  }
  const charges = async (key: string) =>
    (await database!.rows('select 1 from charges where key = $1', [key])).length

  it('S8: an effect that is recorded in its transaction happens once, even with concurrent attempts', async () => {
    await database!.pool.query('create table if not exists charges (key text)')
    const key = uniqueName('charge')
    const tries = await Promise.all(Array.from({ length: 8 }, () => charge(key, 'commit')))
    expect(tries.filter(isFirst => isFirst)).toHaveLength(1)
    expect(await charges(key)).toBe(1)
    expect(await ledger.claim('bill', key, 1_000)).toMatchObject({ kind: 'done' })
  })

  it('S8: rolled back, neither the effect nor the record was ever there', async () => {
    await database!.pool.query('create table if not exists charges (key text)')
    const key = uniqueName('charge')
    expect(await charge(key, 'rollback')).toBe(true)
    expect(await charges(key)).toBe(0)
    expect(await charge(key, 'commit')).toBe(true)
    expect(await charges(key)).toBe(1)
  })

  it('S8: a pair that the consumer has claimed can still be recorded, and is then done for every process', async () => {
    await database!.pool.query('create table if not exists charges (key text)')
    const key = uniqueName('charge')
    const claim = await ledger.claim('bill', key, 60_000)
    expect(await charge(key, 'commit')).toBe(true)
    expect(claim.kind === 'claimed' && (await ledger.complete('bill', key, claim.token))).toBe(false)
    expect(await ledger.claim('bill', key, 1_000)).toMatchObject({ kind: 'done' })
  })
})
