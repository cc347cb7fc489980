import type { Pool } from 'pg'
import type { LazaretEvent } from '../../../src/core/event/event.ts'
import { type Kind, ORDERED } from './plan.ts'

/** What became of all events. */
export interface Findings {
  readonly delivered: number
  readonly failed: number
  /** Neither delivered nor failed, or no row at all. */
  readonly lost: number
  /** Delivered, but the receiver has never had it. */
  readonly withoutEffect: number
  /** The receiver has it more than once. */
  readonly twice: number
  /** Failed, though they could have been delivered. */
  readonly wronged: number
  /** The receiver has it, but its row is failed, or its handler always fails. */
  readonly impossible: number
  /** Events after which the receiver got an earlier event of the same key, although the relay keeps the order. */
  readonly outOfOrder: number
  /** Of transactions that were rolled back. */
  readonly phantoms: number
  /** Failed without exactly one letter. */
  readonly withoutLetter: number
  /** Ended cycles in the history of what was replayed. */
  readonly replayed: number
}

interface Effect {
  readonly event: string
  readonly channel: string
  readonly key: string
  readonly n: number
}

/** Rows that are still on their way. */
export async function countLeft(pool: Pool): Promise<number> {
  const left = `select count(*)::int as count from lazaret.outbox
    where status in ('pending', 'in_flight') or (status = 'failed' and payload ->> 'kind' = 'recoverable')`
  return (await pool.query(left)).rows[0].count
}

export async function collectFindings(
  pool: Pool,
  events: readonly LazaretEvent[],
  phantoms: readonly LazaretEvent[],
): Promise<Findings> {
  const rows = (await pool.query('select event_id as id, status from lazaret.outbox')).rows
  const statuses = new Map<string, string>(rows.map(({ id, status }) => [id, status]))
  const effects: readonly Effect[] = (
    await pool.query('select event, channel, key, n from effects order by seq')
  ).rows
  const had = new Set(effects.map(({ event }) => event))
  const lettered = new Set(
    (
      await pool.query(`select event_id from lazaret.dead_letters where state in ('dead', 'discarded')`)
    ).rows.map(row => row.event_id),
  )
  const { rows: cycles } = await pool.query(
    'select coalesce(sum(jsonb_array_length(failure_history)), 0)::int as count from lazaret.outbox',
  )
  const count = (isSo: (event: LazaretEvent, status: string | undefined) => boolean) =>
    events.filter(event => isSo(event, statuses.get(event.id))).length
  const kindOf = (event: LazaretEvent) => (event.payload as { kind: Kind }).kind
  return {
    delivered: count((_, status) => status === 'delivered'),
    failed: count((_, status) => status === 'failed'),
    lost: count((_, status) => status !== 'delivered' && status !== 'failed'),
    withoutEffect: count(({ id }, status) => status === 'delivered' && !had.has(id)),
    twice: effects.length - had.size,
    wronged: count((event, status) => status === 'failed' && kindOf(event) !== 'permanent'),
    impossible: count(
      (event, status) => had.has(event.id) && (status === 'failed' || kindOf(event) === 'permanent'),
    ),
    outOfOrder: countOutOfOrder(effects),
    phantoms: phantoms.filter(({ id }) => statuses.has(id)).length + (rows.length - statuses.size),
    withoutLetter: count(({ id }, status) => status === 'failed' && !lettered.has(id)),
    replayed: cycles[0].count,
  }
}

function countOutOfOrder(effects: readonly Effect[]): number {
  const latest = new Map<string, number>()
  let wrong = 0
  for (const { channel, key, n } of effects) {
    if (channel !== ORDERED) continue
    const last = latest.get(key) ?? -1
    if (n < last) wrong++
    latest.set(key, Math.max(last, n))
  }
  return wrong
}
