import { monotonicNow } from '../../../ports/clock.ts'
import type { PgQueryable } from '../connection/client.ts'
import { runQuery } from '../connection/query.ts'
import { asInterval } from '../connection/values.ts'
import type { PostgresSettings } from '../options.ts'

const ROWS_PER_STEP = 10_000
/** The longest time for which one call removes rows. */
const MAX_CLEAN_MS = 1_000
const PARTITION_INTERVAL_MS = 3_600_000
const DROP_INTERVAL_MS = 60_000

/** What one round removed. */
interface Removed {
  /** Rows that were deleted one by one. */
  readonly rows: number
  /** Partitions that were dropped as a whole. Nobody counts their rows. */
  readonly partitions: number
}

const NOTHING: Removed = Object.freeze({ rows: 0, partitions: 0 })

/**
 * Removes delivered rows that are older than the retention, and failed rows that nobody needs any more (see
 * `outbox_cleanup`). No index serves this, because every delivery would have to write to it: the table is read by number, step
 * by step, and from the start again after the last old row.
 */
export class Retention {
  readonly #settings: Pick<PostgresSettings, 'pool' | 'clock' | 'delivered' | 'deliveredRetentionMs'>
  #next = 0
  #partitionedAt = Number.NEGATIVE_INFINITY
  #droppedAt = Number.NEGATIVE_INFINITY

  constructor(settings: Pick<PostgresSettings, 'pool' | 'clock' | 'delivered' | 'deliveredRetentionMs'>) {
    this.#settings = settings
  }

  /** Creates partitions for the next days before anything is delivered: rows without one go to the default partition. */
  async createPartitions(): Promise<void> {
    const { pool, clock, delivered } = this.#settings
    if (delivered !== 'partition' || monotonicNow(clock) - this.#partitionedAt < PARTITION_INTERVAL_MS) return
    await runQuery(pool, 'preparing partitions', 'select lazaret.outbox_partition()')
    this.#partitionedAt = monotonicNow(clock)
  }

  /** Called with every heartbeat. */
  async apply(): Promise<Removed> {
    const { delivered, deliveredRetentionMs } = this.#settings
    await this.createPartitions()
    if (deliveredRetentionMs === undefined) return NOTHING
    const rows = await this.#deleteRows(deliveredRetentionMs)
    const dropped = delivered === 'partition' ? await this.#dropPartitions(deliveredRetentionMs) : NOTHING
    return { rows: rows + dropped.rows, partitions: dropped.partitions }
  }

  /** Repeats steps while they find rows: one step per heartbeat would not keep up with a busy table. */
  async #deleteRows(olderThanMs: number): Promise<number> {
    const { pool, clock } = this.#settings
    const startedAt = monotonicNow(clock)
    let rows = 0
    for (let hasMore = true; hasMore && monotonicNow(clock) - startedAt < MAX_CLEAN_MS; ) {
      const { deleted, next } = await deleteStep(pool, olderThanMs, this.#next, 'to young ones')
      this.#next = next ?? 0
      rows += deleted
      hasMore = deleted > 0 && next !== null
    }
    return rows
  }

  /** Runs once per interval, and again with the next heartbeat while one step does not remove everything. */
  async #dropPartitions(olderThanMs: number): Promise<Removed> {
    const { pool, clock } = this.#settings
    if (monotonicNow(clock) - this.#droppedAt < DROP_INTERVAL_MS) return NOTHING
    const before = await countOldPartitions(pool, olderThanMs)
    const removed = await dropPartitions(pool, olderThanMs, false)
    if (removed === 0) {
      this.#droppedAt = monotonicNow(clock)
      return NOTHING
    }
    // The function returns one sum. Partitions that another process dropped meanwhile are not part of it.
    const gone = before === 0 ? 0 : before - (await countOldPartitions(pool, olderThanMs))
    const partitions = Math.max(0, Math.min(removed, gone))
    return { partitions, rows: removed - partitions }
  }
}

/**
 * Removes all rows that were delivered longer ago than that, kept or partitioned, and failed rows that nobody needs any
 * more. Answers how many there were.
 */
export async function removeDelivered(pool: PgQueryable, olderThanMs: number): Promise<number> {
  let removed = 0
  for (let dropped = 1; dropped > 0; removed += dropped)
    dropped = await dropPartitions(pool, olderThanMs, true)
  for (let from: number | null = 0; from !== null; ) {
    const step = await deleteStep(pool, olderThanMs, from, 'all')
    removed += step.deleted
    from = step.next
  }
  return removed
}

interface Step {
  readonly deleted: number
  /** The start of the next step; null after the last one. */
  readonly next: number | null
}

const BEFORE = `clock_timestamp() - ${asInterval(1)}`

/** The end of the rows that a step has looked at. */
const LOOKED_TO = `select max(seq) + 1
  from (select seq from lazaret.outbox where seq >= $2::bigint order by seq limit ${ROWS_PER_STEP}) looked`

/** A step that finds only young rows is the last one, unless all rows are read. */
async function deleteStep(
  pool: PgQueryable,
  olderThanMs: number,
  from: number,
  read: 'all' | 'to young ones',
): Promise<Step> {
  const { rows } = await runQuery(
    pool,
    'removing delivered events',
    `select deleted::float8 as deleted, coalesce(next, case when $3 then (${LOOKED_TO}) end)::float8 as next
     from lazaret.outbox_cleanup(${BEFORE}, $2::bigint, ${ROWS_PER_STEP})`,
    [olderThanMs, from, read === 'all'],
  )
  return rows[0]
}

/** The partitions that `outbox_drop_partitions` would drop. */
async function countOldPartitions(pool: PgQueryable, olderThanMs: number): Promise<number> {
  const { rows } = await runQuery(
    pool,
    'counting partitions',
    `select count(*)::int as count from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = 'lazaret.outbox_delivered'::regclass and c.relname ~ '^outbox_delivered_[0-9]{8}$'
       and ((right(c.relname, 8)::date + 1)::timestamp at time zone 'UTC') <= ${BEFORE}`,
    [olderThanMs],
  )
  return rows[0].count
}

/** Drops partitions, and some rows of the default partition. Unless rows are counted, a partition counts as one. */
async function dropPartitions(pool: PgQueryable, olderThanMs: number, isCounted: boolean): Promise<number> {
  const { rows } = await runQuery(
    pool,
    'removing delivered events',
    `select lazaret.outbox_drop_partitions(${BEFORE}, $2)::float8 as removed`,
    [olderThanMs, isCounted],
  )
  return rows[0].removed
}
