import type { Pool, PoolClient } from 'pg'
import { migratePostgres } from '../../src/adapters/postgres/index.ts'
import { hash128 } from '../../src/core/hash.ts'
import { systemClock } from '../../src/ports/clock.ts'
import { perSecond } from '../harness/load.ts'
import { BATCH, type BenchDatabase, type Candidate, INSERT_ORDER, PAYLOAD, repeat } from './candidate.ts'

// The speed of Postgres for the bare statements, by hand, in batches. No lease, no crash counted, no order,
// no letter, one handler.

const CLAIMED_AT_ONCE = 500

const TABLE = `create table events (
  id bigint generated always as identity primary key,
  payload json not null,
  status text not null default 'pending',
  attempts integer not null default 0,
  due_at timestamptz not null default now()
);
create index events_pending on events (due_at, id) where status = 'pending'`

const INSERT = 'insert into events (payload) values ($1)'
const INSERT_MANY = 'insert into events (payload) select e from json_array_elements($1::json) as e'
const PICK = `array(select id from events where status = 'pending' and due_at <= now()
  order by due_at, id limit ${CLAIMED_AT_ONCE} for update skip locked)`
const CLAIM = `update events set status = 'in_flight', attempts = attempts + 1 where id = any (${PICK})
  returning id, attempts, payload`
const DELIVER = `update events set status = 'delivered' where id = any ($1::bigint[])`
const PUT_BACK = `update events set status = 'pending', due_at = now() where id = any ($1::bigint[])`
const TAKE = `delete from events where id = any (${PICK}) returning id, attempts, payload`

interface Row {
  readonly id: string
  readonly attempts: number
  readonly payload: unknown
}

async function prepare({ pool }: BenchDatabase): Promise<void> {
  await pool.query(TABLE)
}

function insertBatches(pool: Pool, statement: string, count: number): Promise<number> {
  const batch = () => pool.query(statement, [JSON.stringify(Array.from({ length: BATCH }, () => PAYLOAD))])
  return perSecond(count, () => repeat(count / BATCH, batch))
}

function enqueueBatches({ pool }: BenchDatabase, count: number): Promise<number> {
  return insertBatches(pool, INSERT_MANY, count)
}

/** Claims, handles and settles on one connection, one batch after the other. */
async function drain(
  pool: Pool,
  count: number,
  take: (on: PoolClient) => Promise<readonly Row[]>,
  settle: (on: PoolClient, rows: readonly Row[]) => Promise<number>,
): Promise<number> {
  const on = await pool.connect()
  const handle = async (payload: unknown) => payload
  try {
    return await perSecond(count, async () => {
      for (let done = 0; done < count; ) {
        const rows = await take(on)
        for (const { payload } of rows) await handle(payload)
        done += await settle(on, rows)
      }
    })
  } finally {
    on.release()
  }
}

const idsOf = (rows: readonly Row[]) => [rows.map(({ id }) => id)]

async function claim(on: PoolClient): Promise<readonly Row[]> {
  return (await on.query(CLAIM)).rows
}

async function deliver(on: PoolClient, rows: readonly Row[]): Promise<number> {
  await on.query(DELIVER, idsOf(rows))
  return rows.length
}

/** Rows stay in the table: one UPDATE claims them, another settles them. */
export const rawUpdate: Candidate = {
  prepare,
  enqueueBatches,
  enqueueSingle: ({ pool }, count) =>
    perSecond(count, () => repeat(count, () => pool.query(INSERT, [JSON.stringify(PAYLOAD)]))),
  async enqueueInTransaction({ pool }, count) {
    const tx = await pool.connect()
    try {
      return await perSecond(count, () =>
        repeat(count, async () => {
          await tx.query('begin')
          await tx.query(INSERT_ORDER)
          await tx.query(INSERT, [JSON.stringify(PAYLOAD)])
          await tx.query('commit')
        }),
      )
    } finally {
      tx.release()
    }
  },
  process: ({ pool }, count) => drain(pool, count, claim, deliver),
  failOnce: ({ pool }, count) =>
    drain(pool, count, claim, async (on, rows) => {
      const failed = rows.filter(({ attempts }) => attempts === 1)
      if (failed.length > 0) await on.query(PUT_BACK, idsOf(failed))
      const good = rows.filter(({ attempts }) => attempts > 1)
      return good.length === 0 ? 0 : deliver(on, good)
    }),
}

const PUT_BACK_WITH_ERRORS = `update events e
  set status = 'pending', due_at = now(), attempt_log = v.log, last_error = v.error
  from json_to_recordset($1::json) as v(id bigint, log json, error text)
  where e.id = v.id and e.id = any ($2::bigint[])`

/** The recorded parts of an error: its message, and a fingerprint of its place in the code. */
function describe(thrown: unknown): { readonly log: readonly object[]; readonly error: string } {
  const { name, message, stack = '' } = thrown as Error
  const failure = {
    name,
    message,
    category: 'unknown',
    retryable: true,
    fingerprint: hash128(stack.split('\n', 2)[1] ?? ''),
  }
  const at = systemClock.now()
  return {
    log: [{ number: 1, startedAt: at, endedAt: at, failure, delayMs: 1 }],
    error: `${name}: ${message}`,
  }
}

/** The UPDATE loop with handlers that throw. The error is inspected and stored in the row. */
export const rawKeepingErrors: Candidate = {
  async prepare({ pool }) {
    await pool.query(`${TABLE}; alter table events add attempt_log json, add last_error text`)
  },
  enqueueBatches,
  async failOnce({ pool }, count) {
    const on = await pool.connect()
    const handle = async ({ attempts }: Row) => {
      if (attempts === 1) throw new Error('the card was declined')
    }
    const round = async (): Promise<number> => {
      const rows = await claim(on)
      const good: Row[] = []
      const failed: { readonly id: string }[] = []
      for (const row of rows)
        await handle(row).then(
          () => good.push(row),
          (thrown: unknown) => failed.push({ id: row.id, ...describe(thrown) }),
        )
      if (failed.length > 0)
        await on.query(PUT_BACK_WITH_ERRORS, [JSON.stringify(failed), failed.map(({ id }) => id)])
      return good.length === 0 ? 0 : deliver(on, good)
    }
    try {
      return await perSecond(count, async () => {
        for (let done = 0; done < count; ) done += await round()
      })
    } finally {
      on.release()
    }
  },
}

const INSERT_INTO_OUTBOX = `insert into lazaret.outbox (idempotency_key, channel, type, target, payload)
  select 'k', 'orders', 'order.placed', 'orders', e from json_array_elements($1::json) as e`

/** The insert speed of a table with the outbox's columns and indexes, without checks and without creating ids. */
export const rawIntoOutbox: Candidate = {
  async prepare({ pool }) {
    await migratePostgres(pool)
  },
  enqueueBatches: ({ pool }, count) => insertBatches(pool, INSERT_INTO_OUTBOX, count),
}

/** A claim deletes the row, in a transaction that stays open until the handlers are done. */
export const rawDelete: Candidate = {
  prepare,
  enqueueBatches,
  process: ({ pool }, count) =>
    drain(
      pool,
      count,
      async on => {
        await on.query('begin')
        return (await on.query(TAKE)).rows
      },
      async (on, rows) => {
        await on.query('commit')
        return rows.length
      },
    ),
}
