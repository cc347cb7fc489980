import type { AttemptFailure, DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { PgPool, PgQueryable } from '../connection/client.ts'
import { inTransaction, runQuery } from '../connection/query.ts'
import { asInterval, asTime, packableText, storableText } from '../connection/values.ts'
import type { OutboxDelivery } from './delivery.ts'
import { lockReplays } from './publish.ts'

const MARKING = 'settling an event as dead'
/** Clocks tell whole milliseconds. */
const CLOCK_STEP_MS = 1

/**
 * The condition of every settling statement: the row is still in flight for the owner that claimed it. An owner stays in
 * the row after it is settled. `texteq` hides the status from the planner: its statistics are older than the rows in
 * flight, so it would expect none and look for each row of a batch in the whole table.
 */
export const stillOpenFor = (owner: string) => `o.owner = ${owner} and texteq(o.status, 'in_flight')`

/** Answers whether it is still open, and keeps it so until the transaction ends. */
export async function lockOpen(on: PgQueryable, { seq, owner }: OutboxDelivery): Promise<boolean> {
  const statement = `select from lazaret.outbox o where o.seq = $1 and ${stillOpenFor('$2')} for update`
  return (await runQuery(on, 'settling an event', statement, [seq, owner])).rowCount !== 0
}

/**
 * Whether the letter of the row was changed before the row failed: its replay is on its way, or it is resolved or
 * discarded, or its key was unblocked since the letter was created. Nothing would unblock the key later, so the row leaves its
 * lane at once. A letter that is older than the cycle is of an earlier failure: letters may have been kept here before they went
 * to another store.
 *
 * The clock of the server says when the key was unblocked. The clock of this process says how old the letter is, and is read
 * after the transaction has begun: the delay between the two makes the letter older than it is, so that no request is missed.
 */
const IS_LETTER_CHANGED = `exists (
      select from lazaret.outbox r where r.event_id = o.event_id and r.replay is not null and r.seq <> o.seq
        and r.channel = o.channel and r.target = o.target and r.status in ('pending', 'in_flight'))
    or exists (select from lazaret.dead_letters l
      where l.id = $6 and l.state in ('resolved', 'discarded') and l.last_failed_at >= ${asTime(5)})
    or o.unblocked_at >= transaction_timestamp() - ${asInterval(8)}`

const FAILED = `update lazaret.outbox o set status = 'failed', failed_at = statement_timestamp(),
    attempts = $3, attempts_ended = $3, last_error = $4, first_failed_at = ${asTime(5)}, letter_id = $6,
    letter_kept = o.letter_kept or $7, lane = case when (${IS_LETTER_CHANGED}) then null else o.lane end
  where o.seq = $1 and ${stillOpenFor('$2')}`

interface Marking {
  readonly clock: Clock
  /** Its letter is kept here and nowhere else. */
  readonly isKept: boolean
}

/** Answers whether it was still open. */
export async function markFailed(
  on: PgQueryable,
  { seq, owner, log, isSealed }: OutboxDelivery,
  { id, cycle, createdAt }: DeadLetter,
  { clock, isKept }: Marking,
): Promise<boolean> {
  const error = cycle.failure === undefined ? null : errorText(cycle.failure, isSealed)
  const ageMs = Math.max(0, clock.now() - createdAt) + CLOCK_STEP_MS
  const values = [seq, owner, log.started, error, cycle.firstFailedAt, id, isKept, ageMs]
  return (await runQuery(on, MARKING, FAILED, values)).rowCount !== 0
}

const LOCK_LETTER = 'select from lazaret.dead_letters where id = $1 for share'

/**
 * The same for a row whose letter is saved already, so that a person may be changing it at this moment. By key, whichever of
 * the two comes second sees what the first one has done.
 */
export function markFailedWithLetter(
  pool: PgPool,
  delivery: OutboxDelivery,
  letter: DeadLetter,
  clock: Clock,
): Promise<boolean> {
  const { content } = delivery
  const marking = { clock, isKept: false }
  if ('raw' in content || !content.key) return markFailed(pool, delivery, letter, marking)
  return inTransaction(pool, MARKING, async client => {
    await lockReplays(client, MARKING, [content.id])
    await runQuery(client, MARKING, LOCK_LETTER, [letter.id])
    return markFailed(client, delivery, letter, marking)
  })
}

/** A message may quote the payload, so where events are sealed only the name is written. */
export function errorText(
  { name, message }: Pick<AttemptFailure, 'name' | 'message'>,
  isSealed: boolean,
): string {
  return packableText(storableText(isSealed ? name : `${name}: ${message}`))
}
