import type { Clock } from '../../../ports/clock.ts'
import { ask } from '../ask.ts'
import type { PgQueryable } from '../client.ts'

const ROWS_PER_STEP = 10_000
const PARTITIONS_EVERY_MS = 3_600_000

export interface PastSettings {
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

  constructor(settings: PastSettings) {
    this.#settings = settings
  }

  /** One step, with every beat of a consumer. */
  async tend(): Promise<void> {
    const { pool, clock, delivered, deliveredRetentionMs } = this.#settings
    if (delivered === 'partition' && clock.now() - this.#partitionsAt >= PARTITIONS_EVERY_MS) {
      await ask(pool, 'preparing partitions', 'select lazaret.outbox_partition()')
      if (deliveredRetentionMs !== undefined) await dropPartitions(pool, deliveredRetentionMs)
      this.#partitionsAt = clock.now()
    }
    if (delivered !== 'keep' || deliveredRetentionMs === undefined) return
    this.#next = (await cleanStep(pool, deliveredRetentionMs, this.#next)).next ?? 0
  }
}

/** Removes what was delivered longer ago than that, kept or partitioned away; answers how many rows that were. */
export async function cleanUp(pool: PgQueryable, olderThanMs: number): Promise<number> {
  let removed = await dropPartitions(pool, olderThanMs)
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

async function dropPartitions(pool: PgQueryable, olderThanMs: number): Promise<number> {
  const { rows } = await ask(
    pool,
    'removing delivered events',
    `select lazaret.outbox_drop_partitions(${BEFORE})::float8 as removed`,
    [olderThanMs],
  )
  return rows[0].removed
}
