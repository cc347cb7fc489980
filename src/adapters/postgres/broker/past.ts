import type { Clock } from '../../../ports/clock.ts'
import { ask } from '../connection/ask.ts'
import type { PgQueryable } from '../connection/client.ts'

const ROWS_PER_STEP = 10_000
/** Steps follow each other for so long at most, while there is something to remove. */
const MOST_AT_ONCE_MS = 1_000
const PARTITIONS_EVERY_MS = 3_600_000
const DROP_EVERY_MS = 60_000

interface PastSettings {
  readonly pool: PgQueryable
  readonly clock: Clock
  readonly delivered: 'keep' | 'delete' | 'partition'
  readonly deliveredRetentionMs: number | undefined
}

/**
 * What is delivered and no longer wanted. No index is kept for it, because every delivery would have to be written there:
 * the table is gone through by number, a step at a time, and begun anew when it has been gone through.
 */
export class Past {
  readonly #settings: PastSettings
  #next = 0
  #partitionsAt = Number.NEGATIVE_INFINITY
  #droppedAt = Number.NEGATIVE_INFINITY

  constructor(settings: PastSettings) {
    this.#settings = settings
  }

  /** Partitions for the days to come, before anything is delivered: the rest would have it otherwise. */
  async prepare(): Promise<void> {
    const { pool, clock, delivered } = this.#settings
    if (delivered !== 'partition' || clock.now() - this.#partitionsAt < PARTITIONS_EVERY_MS) return
    await ask(pool, 'preparing partitions', 'select lazaret.outbox_partition()')
    this.#partitionsAt = clock.now()
  }

  /** With every beat of a consumer. */
  async tend(): Promise<void> {
    const { delivered, deliveredRetentionMs } = this.#settings
    await this.prepare()
    if (deliveredRetentionMs === undefined) return
    if (delivered === 'partition') await this.#drop(deliveredRetentionMs)
    if (delivered === 'keep') await this.#clean(deliveredRetentionMs)
  }

  /** Step after step while they remove something: one alone would not keep up with a busy table. */
  async #clean(olderThanMs: number): Promise<void> {
    const { pool, clock } = this.#settings
    const startedAt = clock.now()
    for (let hasMore = true; hasMore && clock.now() - startedAt < MOST_AT_ONCE_MS; ) {
      const { deleted, next } = await cleanStep(pool, olderThanMs, this.#next)
      this.#next = next ?? 0
      hasMore = deleted > 0 && next !== null
    }
  }

  /** Now and then; at once again while there is more than one step takes. */
  async #drop(olderThanMs: number): Promise<void> {
    const { pool, clock } = this.#settings
    if (clock.now() - this.#droppedAt < DROP_EVERY_MS) return
    const removed = await dropPartitions(pool, olderThanMs, false)
    if (removed === 0) this.#droppedAt = clock.now()
  }
}

/** Removes what was delivered longer ago than that, kept or partitioned away; answers how many rows that were. */
export async function cleanUp(pool: PgQueryable, olderThanMs: number): Promise<number> {
  let removed = 0
  for (let dropped = 1; dropped > 0; removed += dropped)
    dropped = await dropPartitions(pool, olderThanMs, true)
  for (let from: number | null = 0; from !== null; ) {
    const step = await cleanStep(pool, olderThanMs, from)
    removed += step.deleted
    from = step.next
  }
  return removed
}

interface Step {
  readonly deleted: number
  readonly next: number | null
}

const BEFORE = `clock_timestamp() - $1::float8 * interval '1 ms'`

async function cleanStep(pool: PgQueryable, olderThanMs: number, from: number): Promise<Step> {
  const { rows } = await ask(
    pool,
    'removing delivered events',
    `select deleted::float8 as deleted, next::float8 as next
     from lazaret.outbox_cleanup(${BEFORE}, $2::bigint, ${ROWS_PER_STEP})`,
    [olderThanMs, from],
  )
  return rows[0]
}

/** Drops the days that are over, and some of what lies in the rest; uncounted, a day counts as one row. */
async function dropPartitions(pool: PgQueryable, olderThanMs: number, isCounted: boolean): Promise<number> {
  const { rows } = await ask(
    pool,
    'removing delivered events',
    `select lazaret.outbox_drop_partitions(${BEFORE}, $2)::float8 as removed`,
    [olderThanMs, isCounted],
  )
  return rows[0].removed
}
