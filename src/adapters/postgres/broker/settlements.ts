// The statements that settle. Each acts only on rows that are still in flight for the owner that claimed them, and
// answers which those were.
import { ask } from '../ask.ts'
import type { PgQueryable } from '../client.ts'
import { column, fromColumn, numbers } from '../columns.ts'
import { asTime } from '../text.ts'

/**
 * Whoever claims a row stays its owner when it is in flight no more. Statistics are older than what is in flight, so the
 * planner would take it that nothing is, and look for each row of a batch in the whole table: of a function it knows nothing.
 */
const stillOpenFor = (owner: string) => `o.owner = ${owner} and texteq(o.status, 'in_flight')`

/** What is moved as it is. */
const DELIVERED_COLUMNS = `seq, event_id, foreign_id, idempotency_key, channel, type, key, source, target, payload,
      payload_bytes, sealed, headers, generation, attempt_log, next_attempt_at, last_error, first_failed_at,
      failure_history, replays, replay, letter_id, letter_kept, owner, occurred_at, expires_at, created_at`

const DONE = {
  keep: `update lazaret.outbox o set status = 'delivered', lane = null, delivered_at = statement_timestamp(),
      attempts = $3, attempts_ended = $3
    where o.seq = any ($1::bigint[]) and ${stillOpenFor('$2')} returning o.seq::float8 as seq`,
  delete: `delete from lazaret.outbox o where o.seq = any ($1::bigint[]) and ${stillOpenFor('$2')}
    returning o.seq::float8 as seq`,
  partition: `with gone as (
      delete from lazaret.outbox o where o.seq = any ($1::bigint[]) and ${stillOpenFor('$2')} returning o.*)
    insert into lazaret.outbox_delivered (${DELIVERED_COLUMNS}, status, attempts, attempts_ended, delivered_at)
    select ${DELIVERED_COLUMNS}, 'delivered', $3, $3, statement_timestamp() from gone returning seq::float8 as seq`,
} as const

export type Delivered = keyof typeof DONE

export interface DoneRows {
  readonly seqs: readonly number[]
  readonly owner: number
  readonly attempts: number
}

export async function markDone(
  on: PgQueryable,
  { seqs, owner, attempts }: DoneRows,
  delivered: Delivered,
): Promise<readonly number[]> {
  const values = delivered === 'delete' ? [numbers(seqs), owner] : [numbers(seqs), owner, attempts]
  const { rows } = await ask(on, 'settling events as done', DONE[delivered], values)
  return rows.map(({ seq }) => seq)
}

/** What ended in process. */
export interface EndedRow {
  readonly seq: number
  readonly owner: number
  readonly attempts: number
  readonly ended: number
  readonly log: string | null
  readonly error: string | null
  readonly firstFailedAt: number | null
}

/** A row that goes back to where it can be claimed. */
export interface BackRow extends EndedRow {
  /** Null: it keeps its place. */
  readonly delayMs: number | null
}

const ENDED_COLUMNS = `$1::bigint[], $2::bigint[], $3::integer[], $4::integer[], ${fromColumn(5)}, ${fromColumn(6)},
    $7::float8[]`
const ENDED_NAMES = 'seq, owner, attempts, ended, log, error, "firstFailedAt"'
const OF_ENDED = `attempts = v.attempts, attempts_ended = v.ended, attempt_log = coalesce(v.log::json, o.attempt_log),
    last_error = coalesce(v.error, o.last_error),
    first_failed_at = coalesce(o.first_failed_at, to_timestamp(v."firstFailedAt" / 1000))`

function endedValues(rows: readonly EndedRow[]): unknown[] {
  return [
    numbers(rows.map(({ seq }) => seq)),
    numbers(rows.map(({ owner }) => owner)),
    numbers(rows.map(({ attempts }) => attempts)),
    numbers(rows.map(({ ended }) => ended)),
    column(rows.map(({ log }) => log)),
    column(rows.map(({ error }) => error)),
    numbers(rows.map(({ firstFailedAt }) => firstFailedAt)),
  ]
}

const BACK = `update lazaret.outbox o set status = 'pending', owner = null, ${OF_ENDED},
    next_attempt_at = coalesce(statement_timestamp() + v."delayMs" * interval '1 ms', o.next_attempt_at)
  from unnest(${ENDED_COLUMNS}, $8::float8[]) as v(${ENDED_NAMES}, "delayMs")
  where o.seq = v.seq and o.seq = any ($1::bigint[]) and ${stillOpenFor('v.owner')} returning o.seq::float8 as seq`

export async function putBack(on: PgQueryable, rows: readonly BackRow[]): Promise<readonly number[]> {
  const values = [...endedValues(rows), numbers(rows.map(({ delayMs }) => delayMs))]
  const answer = await ask(on, 'giving events back', BACK, values)
  return answer.rows.map(({ seq }) => seq)
}

const ENDED = `update lazaret.outbox o set ${OF_ENDED} from unnest(${ENDED_COLUMNS}) as v(${ENDED_NAMES})
  where o.seq = v.seq and o.seq = any ($1::bigint[]) and ${stillOpenFor('v.owner')} returning o.seq::float8 as seq`

/** Written before the next attempt begins. */
export async function recordEnded(on: PgQueryable, rows: readonly EndedRow[]): Promise<readonly number[]> {
  const answer = await ask(on, 'recording attempts', ENDED, endedValues(rows))
  return answer.rows.map(({ seq }) => seq)
}

export interface FailedRow {
  readonly seq: number
  readonly owner: number
  readonly attempts: number
  readonly error: string | null
  readonly firstFailedAt: number
  readonly letterId: string
  /** Its letter is kept here and nowhere else. */
  readonly isKept: boolean
}

const FAILED = `update lazaret.outbox o set status = 'failed', failed_at = statement_timestamp(),
    attempts = $3, attempts_ended = $3, last_error = $4, first_failed_at = ${asTime(5)}, letter_id = $6,
    letter_kept = o.letter_kept or $7
  where o.seq = $1 and ${stillOpenFor('$2')}`

/** Whether it was still open. */
export async function markFailed(on: PgQueryable, row: FailedRow): Promise<boolean> {
  const { seq, owner, attempts, error, firstFailedAt, letterId, isKept } = row
  const values = [seq, owner, attempts, error, firstFailedAt, letterId, isKept]
  const { rowCount } = await ask(on, 'settling an event as dead', FAILED, values)
  return rowCount !== 0
}

/** Whether it is still open; it stays so until the transaction ends. */
export async function lockOpen(on: PgQueryable, seq: number, owner: number): Promise<boolean> {
  const { rowCount } = await ask(
    on,
    'settling an event',
    `select from lazaret.outbox o where o.seq = $1 and ${stillOpenFor('$2')} for update`,
    [seq, owner],
  )
  return rowCount !== 0
}
