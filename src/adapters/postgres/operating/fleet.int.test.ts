import { Pool } from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findPostgres } from '../../../../test/services/postgres.ts'
import { timing } from '../../../../test/support/outbox-world.ts'
import { TestDatabase } from '../../../../test/support/postgres.ts'
import type { Command, Commands } from '../../../ports/commands.ts'
import type { InstanceReport } from '../../../ports/fleet.ts'
import type { PgPool } from '../connection/client.ts'
import { openPostgres, type PostgresStore } from '../index.ts'
import type { PostgresOptions } from '../options.ts'
import { postgresFleet } from './fleet.ts'

const HOUR_MS = 3_600_000
const found = await findPostgres()
const server = found.found ? await found.start() : undefined
const database = server && (await TestDatabase.migrated(server))
const why = found.found ? '' : ` (skipped: ${found.why})`
const closing: (() => Promise<void>)[] = []
beforeEach(() => database?.clear())
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})
afterAll(async () => {
  await database?.close()
  await server?.close()
})

/** A store with a pool of its own. A statement of it waits for no lock of another. */
function openStore(options: Partial<PostgresOptions> & { readonly max?: number } = {}) {
  const { max = 5, ...rest } = options
  const pool = new Pool({ connectionString: database!.url, max, options: '-c lock_timeout=1000' })
  pool.on('error', () => {})
  pool.on('connect', client => client.on('error', () => {}))
  const store = openPostgres({ pool, ...rest })
  closing.push(
    () => pool.end(),
    () => store.close(),
  )
  return { pool, store }
}

/** Does the work while another transaction has run a statement and is open. It ends in any case. */
async function during(statement: string, work: () => Promise<void>): Promise<void> {
  const other = await database!.pool.connect()
  try {
    await other.query(`begin; ${statement}`)
    await work()
  } finally {
    await other.query('commit')
    other.release()
  }
}

/** The connections that are taken out of a pool. */
function taken({ totalCount, idleCount }: Pool): number {
  return totalCount - idleCount
}

function commandOf(id: string, ...recipients: readonly string[]): Command {
  return { v: 1, id, request: 'request', task: { kind: 'pause' }, recipients, by: 'ann' }
}

const SUBSCRIPTION = { channel: 'orders', handler: 'bill', ordering: 'none', prefetch: 1 } as const

const REPORT: InstanceReport = {
  v: 1,
  id: 'a',
  service: 'orders',
  host: 'node-1',
  pid: 42,
  startedAt: 1,
  consumers: [],
  sinks: [],
}

async function idsOf(claim: ReturnType<Commands['claim']>): Promise<string[]> {
  return (await claim).map(({ id }) => id)
}

async function statesOf(commands: Commands): Promise<string[]> {
  return (await commands.get('request')).map(({ command, state }) => `${command.id} ${state}`)
}

/** Moves the commands instead of the clock of the server. */
function setClock(by: string): Promise<unknown> {
  return database!.pool.query(`update lazaret.commands set sent_at = sent_at ${by}`)
}

let sent = 0
/** Sends commands until the listener is called, because the server may not know a listener yet. */
async function notified({ commands }: PostgresStore, instance: string, calls: () => number): Promise<void> {
  const before = calls()
  await timing.eventually(async () => {
    if (calls() === before) await commands.send([commandOf(`c-${sent++}`, instance)], HOUR_MS)
    return calls() > before
  }, `the listener of ${instance} is called`)
}

describe.runIf(found.found)(`commands in Postgres${why}`, () => {
  it('B17: a claim does not wait for a command that another one locks', async () => {
    const { store } = openStore()
    const { commands } = store
    await commands.send([commandOf('one', 'a', 'b'), commandOf('two', 'a')], HOUR_MS)
    await during(`select from lazaret.commands where id = 'one' for update`, async () => {
      expect(await idsOf(commands.claim('a', 10))).toEqual(['two'])
    })
    expect(await idsOf(commands.claim('b', 10))).toEqual(['one'])
  })

  it('B17: a command that expired because the clock was set back is never given out', async () => {
    const { commands } = openStore().store
    await commands.send([commandOf('one', 'a')], HOUR_MS)
    await setClock("+ interval '2 hours'")
    expect(await commands.claim('a', 1)).toEqual([])
    await setClock("- interval '2 hours'")
    expect(await commands.claim('a', 1)).toEqual([])
    expect(await statesOf(commands)).toEqual(['one expired'])
  })

  it('B17: a command that was shown as over stays so when the clock comes round to its time again', async () => {
    const { commands } = openStore().store
    await commands.send([commandOf('one', 'a'), commandOf('two', 'b'), commandOf('three', 'c')], HOUR_MS)
    await commands.claim('b', 1)
    await setClock("+ interval '2 hours'")
    expect((await commands.list(1))[0]?.state).toBe('expired')
    // A command that is being answered does not hold up readers.
    await during(`select from lazaret.commands where id = 'one' for update`, async () => {
      expect(await statesOf(commands)).toEqual(['one expired', 'two unanswered', 'three expired'])
    })
    expect(await statesOf(commands)).toEqual(['one expired', 'two unanswered', 'three expired'])
    await setClock("- interval '2 hours'")
    expect(await statesOf(commands)).toEqual(['one expired', 'two unanswered', 'three expired'])
    for (const instance of ['a', 'b', 'c']) expect(await commands.claim(instance, 1)).toEqual([])
    expect(await commands.finish('two', 'b', { ok: true })).toBe(true)
    expect(await statesOf(commands)).toEqual(['one expired', 'two done', 'three expired'])
  })

  it('B17: a database that cannot be written still shows which commands are over', async () => {
    const { store, pool } = openStore({ max: 1 })
    await store.commands.send([commandOf('one', 'a')], HOUR_MS)
    await setClock("+ interval '2 hours'")
    await pool.query('set default_transaction_read_only = on')
    expect(await statesOf(store.commands)).toEqual(['one expired'])
  })

  it('B17: a poll reads one index of the commands that wait, and claimed commands are not in it', async () => {
    const { commands } = openStore().store
    await commands.send([commandOf('claimed', 'a', 'b')], HOUR_MS)
    await commands.claim('a', 1)
    expect(await database!.rows('select from lazaret.command_recipients')).toEqual([])
    const many = Array.from({ length: 5_000 }, (_, index) => commandOf(`many-${index}`, `instance-${index}`))
    await commands.send(many, HOUR_MS)
    await database!.pool.query('analyze lazaret.command_recipients')
    const plan = await database!.rows<Record<string, string>>(
      `explain (costs off) select 1 from lazaret.command_recipients where instance = 'a' limit 1`,
    )
    expect(plan.map(line => line['QUERY PLAN']).join('\n')).toMatch(
      /^Limit\n.*Index Only Scan using command_recipients_pkey/,
    )
    expect((await commands.list(3)).map(({ command }) => command.id)).toEqual([
      'many-4999',
      'many-4998',
      'many-4997',
    ])
  })

  it('B17: of two commands with one id in a request the first counts', async () => {
    const { commands } = openStore().store
    const twice = [commandOf('one', 'a', 'a'), commandOf('one', 'b')]
    await commands.send(twice, HOUR_MS)
    expect(await commands.claim('b', 1)).toEqual([])
    expect(await commands.claim('a', 1)).toEqual([twice[0]])
  })
})

describe.runIf(found.found)(`listeners of commands in Postgres${why}`, () => {
  it('B17: all of them and the consumers share one connection, which the last to stop returns', async () => {
    const { pool, store } = openStore()
    const sender = openStore().store
    const calls = [0, 0, 0]
    const ends = calls.map((_, index) => store.commands.onCommand(`i-${index}`, () => void calls[index]!++))
    for (const index of calls.keys()) await notified(sender, `i-${index}`, () => calls[index]!)
    expect(taken(pool)).toBe(1)
    await store.broker.subscribe(SUBSCRIPTION, () => {})
    expect(taken(pool)).toBe(1)
    for (const end of ends.slice(1)) end()
    await notified(sender, 'i-0', () => calls[0]!)
    ends[0]!()
    await store.broker.close()
    await timing.eventually(() => taken(pool) === 0, 'the connection is back in the pool')
  })

  it('B17: a listener is called again after its connection broke', async () => {
    const { store } = openStore({ leaseMs: 60 })
    const sender = openStore().store
    let calls = 0
    store.commands.onCommand('a', () => void calls++)
    await notified(sender, 'a', () => calls)
    const killed = await database!.rows(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and query = 'listen lazaret_commands'`,
    )
    expect(killed).toHaveLength(1)
    await notified(sender, 'a', () => calls)
  })

  it('B17: a pool of one connection keeps working, and only the own process calls its listeners', async () => {
    const { store, pool } = openStore({ max: 1 })
    let calls = 0
    store.commands.onCommand('a', () => void calls++)
    await store.commands.send([commandOf('one', 'a')], HOUR_MS)
    expect(calls).toBe(1)
    expect(await idsOf(store.commands.claim('a', 1))).toEqual(['one'])
    expect(taken(pool)).toBe(0)
  })

  it('B17: a listener that throws is reported, and the others are called', async () => {
    const errors: unknown[] = []
    const { store } = openStore({ listen: false, onError: error => errors.push(error) })
    let calls = 0
    store.commands.onCommand('a', () => {
      throw new Error('no')
    })
    store.commands.onCommand('a', () => void calls++)
    await store.commands.send([commandOf('one', 'a')], HOUR_MS)
    expect([calls, errors]).toEqual([1, [new Error('no')]])
  })
})

describe.runIf(found.found)(`the fleet in Postgres${why}`, () => {
  it('B17: a report changes no index', async () => {
    const client = await database!.pool.connect()
    try {
      await client.query('begin')
      const fleet = postgresFleet(() => client as unknown as PgPool)
      for (let report = 0; report <= 10; report++) await fleet.report(REPORT, HOUR_MS)
      const { rows } = await client.query(
        `select pg_stat_get_xact_tuples_updated(oid)::int as updated, pg_stat_get_xact_tuples_hot_updated(oid)::int as hot
         from pg_class where oid = 'lazaret.instances'::regclass`,
      )
      expect(rows).toEqual([{ updated: 10, hot: 10 }])
    } finally {
      await client.query('rollback')
      client.release()
    }
  })

  it('B17: a purge does not wait for a process that is just reporting', async () => {
    const { fleet } = openStore().store
    await fleet.report(REPORT, HOUR_MS)
    await fleet.report({ ...REPORT, id: 'b' }, HOUR_MS)
    for (const id of ['a', 'b']) await fleet.leave(id)
    await during(`update lazaret.instances set has_left = false where id = 'a'`, async () => {
      expect(await fleet.purge(Number.MAX_SAFE_INTEGER)).toBe(1)
    })
    expect((await fleet.list()).map(({ report, state }) => `${report.id} ${state}`)).toEqual(['a alive'])
  })
})
