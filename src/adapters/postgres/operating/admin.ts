import type { PgQueryable } from '../connection/client.ts'
import { createPool } from '../connection/pool.ts'
import { runQuery } from '../connection/query.ts'
import { asMs } from '../connection/values.ts'
import { migratePostgres, requireSchema } from '../schema/migrate.ts'
import { type Migration, SCHEMA_VERSION } from '../schema/migrations.ts'

/** The operations on the outbox itself, in contrast to its letters. */
interface OutboxAdmin {
  readonly version: number
  /** The steps that were taken. None when the schema was up to date. */
  migrate(): Promise<readonly Migration[]>
  status(): Promise<OutboxStatus>
}

export async function withOutboxAdmin<T>(url: string, work: (admin: OutboxAdmin) => Promise<T>): Promise<T> {
  const pool = await createPool(url)
  try {
    return await work({
      version: SCHEMA_VERSION,
      migrate: () => migratePostgres(pool),
      status: () => readStatus(pool),
    })
  } finally {
    await pool.end()
  }
}

/** The number of events of one handler by state. */
export interface HandlerStatus {
  readonly channel: string
  /** Undefined for rows without a handler. */
  readonly handler: string | undefined
  readonly isByKey: boolean
  /** Can be claimed now, or wait behind their key. */
  readonly pending: number
  /** Wait for a retry. */
  readonly waiting: number
  readonly inFlight: number
  /** Dead and not dealt with. */
  readonly failed: number
  readonly oldestPendingAt: number | undefined
}

interface OutboxStatus {
  readonly handlers: readonly HandlerStatus[]
  /** Processes whose lease holds. */
  readonly consumers: number
}

/** Each part uses its own index: delivered events are never read. */
const UNFINISHED = [
  'owner is null and lane is null and target is not null',
  'owner is null and lane is not null',
  'target is null',
  `seq = any (array(select unnest(seqs) from lazaret.outbox_claims)) and status = 'in_flight'`,
  'failed_at is not null and deleted_at is null',
]
  .map(
    which => `select channel, target, status, next_attempt_at, created_at, deleted_at
    from lazaret.outbox where ${which}`,
  )
  .join(' union all ')

const STATUS = `select channel, handler, coalesce(h.by_key, false) as "isByKey", coalesce(pending, 0) as pending,
    coalesce(waiting, 0) as waiting, coalesce(in_flight, 0) as "inFlight", coalesce(failed, 0) as failed,
    ${asMs('oldest')} as "oldestPendingAt"
  from (
    select channel, target as handler,
      (count(*) filter (where status = 'pending' and next_attempt_at <= statement_timestamp()))::float8 as pending,
      (count(*) filter (where status = 'pending' and next_attempt_at > statement_timestamp()))::float8 as waiting,
      (count(*) filter (where status = 'in_flight'))::float8 as in_flight,
      (count(*) filter (where status = 'failed' and deleted_at is null))::float8 as failed,
      min(created_at) filter (where status = 'pending') as oldest
    from (${UNFINISHED}) u group by channel, target
  ) o full join lazaret.outbox_handlers h using (channel, handler)
  order by channel, handler`

async function readStatus(on: PgQueryable): Promise<OutboxStatus> {
  await requireSchema(on)
  const doing = 'reading the state of the outbox'
  const { rows } = await runQuery(on, doing, STATUS)
  const consumers = await runQuery(
    on,
    doing,
    'select count(*)::float8 as count from lazaret.outbox_owners where lease_until > clock_timestamp()',
  )
  return {
    handlers: rows.map(row => ({
      ...row,
      handler: row.handler ?? undefined,
      oldestPendingAt: row.oldestPendingAt ?? undefined,
    })),
    consumers: consumers.rows[0].count,
  }
}
