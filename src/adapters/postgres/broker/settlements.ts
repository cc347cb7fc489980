// The statements that settle. Each acts only on rows that are still in flight for the owner that claimed them, and
// answers which those were: mostly all, which takes one word.
import { ask } from '../connection/ask.ts'
import type { PgQueryable } from '../connection/client.ts'
import { column, fromColumn, numbers } from '../connection/columns.ts'
import { asTime } from '../connection/text.ts'

/**
 * Whoever claims a row stays its owner when it is in flight no more. Statistics are older than what is in flight, so the
 * planner would take it that nothing is, and look for each row of a batch in the whole table: of a function it knows nothing.
 */
const stillOpenFor = (owner: string) => `o.owner = ${owner} and texteq(o.status, 'in_flight')`

/** Which of the rows were still open. */
export type Settled = 'all' | ReadonlySet<number>

/** `settled` changes rows of `$1` and returns their numbers; what it needs is before it. */
function telling(settled: string, before = ''): string {
  return `with ${before}settled as (${settled})
    select case when count(*) < cardinality($1::bigint[]) then coalesce(json_agg(seq), '[]')::text end as seqs from settled`
}

async function settle(
  on: PgQueryable,
  doing: string,
  statement: string,
  values: unknown[],
): Promise<Settled> {
  const { rows } = await ask(on, doing, statement, values)
  const { seqs }: { readonly seqs: string | null } = rows[0]
  return seqs === null ? 'all' : new Set(JSON.parse(seqs))
}

/** What is moved as it is. */
const DELIVERED_COLUMNS = `seq, event_id, foreign_id, idempotency_key, channel, type, key, source, target, payload,
      payload_bytes, sealed, headers, generation, attempt_log, next_attempt_at, last_error, first_failed_at,
      failure_history, replays, replay, letter_id, letter_kept, owner, occurred_at, expires_at, created_at`

const DONE = {
  keep: telling(`update lazaret.outbox o set status = 'delivered', lane = null, delivered_at = statement_timestamp(),
      attempts = $3, attempts_ended = $3
    where o.seq = any ($1::bigint[]) and ${stillOpenFor('$2')} returning o.seq`),
  delete: telling(`delete from lazaret.outbox o where o.seq = any ($1::bigint[]) and ${stillOpenFor('$2')}
    returning o.seq`),
  partition: telling(
    `insert into lazaret.outbox_delivered (${DELIVERED_COLUMNS}, status, attempts, attempts_ended, delivered_at)
    select ${DELIVERED_COLUMNS}, 'delivered', $3, $3, statement_timestamp() from gone returning seq`,
    `gone as (
      delete from lazaret.outbox o where o.seq = any ($1::bigint[]) and ${stillOpenFor('$2')} returning o.*), `,
  ),
} as const

export type Delivered = keyof typeof DONE

interface DoneRows {
  readonly seqs: readonly number[]
  readonly owner: number
  readonly attempts: number
}

export async function markDone(
  on: PgQueryable,
  { seqs, owner, attempts }: DoneRows,
  delivered: Delivered,
): Promise<Settled> {
  const values = delivered === 'delete' ? [numbers(seqs), owner] : [numbers(seqs), owner, attempts]
  return settle(on, 'settling events as done', DONE[delivered], values)
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
    column(rows, ({ log }) => log),
    column(rows, ({ error }) => error),
    numbers(rows.map(({ firstFailedAt }) => firstFailedAt)),
  ]
}

const BACK = telling(`update lazaret.outbox o set status = 'pending', owner = null, ${OF_ENDED},
    next_attempt_at = coalesce(statement_timestamp() + v."delayMs" * interval '1 ms', o.next_attempt_at)
  from unnest(${ENDED_COLUMNS}, $8::float8[]) as v(${ENDED_NAMES}, "delayMs")
  where o.seq = v.seq and o.seq = any ($1::bigint[]) and ${stillOpenFor('v.owner')} returning o.seq`)

export async function putBack(on: PgQueryable, rows: readonly BackRow[]): Promise<Settled> {
  const values = [...endedValues(rows), numbers(rows.map(({ delayMs }) => delayMs))]
  return settle(on, 'giving events back', BACK, values)
}

const ENDED =
  telling(`update lazaret.outbox o set ${OF_ENDED} from unnest(${ENDED_COLUMNS}) as v(${ENDED_NAMES})
  where o.seq = v.seq and o.seq = any ($1::bigint[]) and ${stillOpenFor('v.owner')} returning o.seq`)

/** Written before the next attempt begins. */
export async function recordEnded(on: PgQueryable, rows: readonly EndedRow[]): Promise<Settled> {
  return settle(on, 'recording attempts', ENDED, endedValues(rows))
}

interface FailedRow {
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
