import type { AttemptRecord } from '../../../core/dead-letter/letter.ts'
import { nextTurn } from '../../../ports/clock.ts'
import { ask } from '../connection/ask.ts'
import type { PgQueryable } from '../connection/client.ts'
import { numbers } from '../connection/columns.ts'
import { EVENT_COLUMNS, type EventRow, RARE_EVENT_COLUMNS, RARE_EVENT_NAMES } from './event-row.ts'

export interface ClaimedRow extends EventRow {
  readonly seq: number
  /** The number of the claim that took it. */
  readonly claim: number
  /** In seconds. */
  readonly due: number
  readonly attempts: number
  readonly attemptsEnded: number
  readonly attemptLog: readonly AttemptRecord[] | null
  readonly letterId: string | null
  readonly letterKept: boolean
}

export interface ClaimFor {
  readonly channel: string
  readonly handler: string
  readonly isByKey: boolean
  readonly generation: number
}

/**
 * As one text: a row of many columns costs the client several times as much. What most rows do not have comes behind the
 * rest, and only where there is some of it: each value costs the server.
 */
const TAKEN = `json_build_array(o.seq, date_part('epoch', o.next_attempt_at), o.attempts, o.attempts_ended, ${EVENT_COLUMNS},
  case when num_nonnulls(o.attempt_log, o.letter_id, ${RARE_EVENT_NAMES}) > 0
    then json_build_array(o.attempt_log, o.letter_id, o.letter_kept, ${RARE_EVENT_COLUMNS}) end)::text as row`

const NOTHING_RARE = [null, null, false, null, null, null, null, null, null] as const

const READY = `c.channel = $1 and c.target = $2 and c.owner is null and c.next_attempt_at <= statement_timestamp()
    and c.generation <= $4`

/**
 * One statement that commits by itself: no transaction is held open while a handler runs. The rows are found by the
 * index of what is pending and taken by an array of their places; a join in the place of the array makes the planner
 * read the whole table. An owner that was taken for dead claims nothing; whoever ends it waits for claims under way, and
 * finds what they took by the numbers that are noted here, once for all of them.
 */
function claimStatement(which: string): string {
  return `with alive as (select from lazaret.outbox_owners where id = $3 for key share),
ended as (delete from lazaret.outbox_claims where owner = $3 and number = any ($7::bigint[])),
picked as (
  select c.ctid as place, c.seq from lazaret.outbox c
  where exists (select from alive) and ${READY} and ${which} for update skip locked),
noted as (
  insert into lazaret.outbox_claims (owner, number, seqs)
  select $3, $6, array_agg(seq) from picked having count(*) > 0)
update lazaret.outbox o set status = 'in_flight', owner = $3
where o.ctid = any (array(select place from picked)) returning ${TAKEN}`
}

const CLAIM = claimStatement('c.lane is null order by c.next_attempt_at, c.seq limit $5')

/**
 * Between the look at a lane and the claim of its first row an earlier one may have turned up, and somebody else may have
 * claimed that. So the lane is locked, and then looked at once more: of two who claim in one lane one finds what the other did.
 */
const CLAIM_FIRST = `select ${TAKEN} from lazaret.outbox_claim_first($1, $2, $3, $4, $5, $6, $7) o`

/** Who claims. */
export interface Claimant {
  readonly owner: number
  /** What the claim is noted under. */
  readonly number: number
  /** Claims of which nothing is in flight any more. */
  readonly ended: readonly number[]
}

/** Rows that no order binds, the ones that have waited longest first. `onFull`: there are as many as were asked for. */
export function claimRows(
  on: PgQueryable,
  claimFor: ClaimFor,
  claimant: Claimant,
  limit: number,
  onFull: () => void,
): Promise<ClaimedRow[]> {
  return claim(on, CLAIM, claimFor, claimant, limit, async count => {
    if (count < limit) return
    onFull()
    // What that asks of the server is on its way by the next turn, and under way while these are read.
    await nextTurn()
  })
}

/** Of these rows, each the first of its lane, the ones that can still be claimed. */
export function claimFirst(
  on: PgQueryable,
  claimFor: ClaimFor,
  claimant: Claimant,
  seqs: readonly number[],
): Promise<ClaimedRow[]> {
  return claim(on, CLAIM_FIRST, claimFor, claimant, numbers(seqs))
}

async function claim(
  on: PgQueryable,
  statement: string,
  { channel, handler, generation }: ClaimFor,
  { owner, number, ended }: Claimant,
  which: unknown,
  onAnswer?: (count: number) => Promise<void>,
): Promise<ClaimedRow[]> {
  const values = [channel, handler, owner, generation, which, number, numbers(ended)]
  const { rows } = await ask(on, `claiming events of channel ${channel}`, statement, values)
  await onAnswer?.(rows.length)
  return rows.map(({ row }) => readRow(row, channel, number)).sort((a, b) => a.due - b.due || a.seq - b.seq)
}

function readRow(text: string, channel: string, claim: number): ClaimedRow {
  const [seq, due, attempts, attemptsEnded, id, idempotencyKey, type, payload, headers, occurredAt, rare] =
    JSON.parse(text)
  const [attemptLog, letterId, letterKept, foreignId, key, source, bytes, sealed, expiresAt] =
    rare ?? NOTHING_RARE
  return {
    seq,
    claim,
    due,
    attempts,
    attemptsEnded,
    attemptLog,
    letterId,
    letterKept,
    id,
    foreignId,
    idempotencyKey,
    channel,
    type,
    key,
    source,
    payload,
    bytes,
    sealed,
    headers,
    occurredAt,
    expiresAt,
  }
}

export interface Outlook {
  /** Whether the owner still counts as alive. */
  readonly isAlive: boolean
  /** How long until the next retry is due, if one waits. */
  readonly dueInMs: number | null
}

const OUTLOOK = `select exists (select from lazaret.outbox_owners where id = $3) as "isAlive", (
  select (extract(epoch from next_attempt_at - statement_timestamp()) * 1000)::float8 from lazaret.outbox
  where channel = $1 and target = $2 and owner is null and lane is null
    and next_attempt_at > statement_timestamp() and next_attempt_at < 'infinity'
  order by next_attempt_at limit 1) as "dueInMs"`

/** Asked when there was nothing more to claim. */
export async function lookAhead(
  on: PgQueryable,
  { channel, handler }: ClaimFor,
  owner: number,
): Promise<Outlook> {
  const { rows } = await ask(on, `looking for retries of channel ${channel}`, OUTLOOK, [
    channel,
    handler,
    owner,
  ])
  return rows[0]
}
