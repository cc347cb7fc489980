import type { PollLoop } from '../../../adapter-kit/poll-loop.ts'
import { WriteBatcher } from '../../../adapter-kit/write-batcher.ts'
import type { DeliveredReplay } from '../../../core/dead-letter/change.ts'
import type { AttemptRecord, DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { Settlement } from '../../../ports/broker.ts'
import type { PgQueryable } from '../connection/client.ts'
import { inTransaction, runQuery } from '../connection/query.ts'
import { arrayOf, packColumn, unpackColumn } from '../connection/values.ts'
import { LetterTable } from '../letters/letter-table.ts'
import type { PostgresSettings } from '../options.ts'
import type { ClaimedRows } from './claimed-rows.ts'
import type { OutboxDelivery } from './delivery.ts'
import type { ProcessLease } from './lease.ts'
import { errorText, lockOpen, markFailed, markFailedWithLetter, stillOpenFor } from './open-row.ts'

const MAX_PER_STATEMENT = 1_000
/** A longer delay makes no difference, and Postgres has no time for every number. */
const MAX_DELAY_MS = 100 * 365 * 86_400_000

/**
 * Records attempts and settlements. Each method returns false if the delivery is no longer open. Settlements that arrive
 * while a statement runs are written together by the next one.
 */
export class Settler {
  readonly #settings: PostgresSettings
  readonly #lease: ProcessLease
  readonly #claimed: ClaimedRows
  readonly #rounds: PollLoop
  readonly #letters: LetterTable
  readonly #done: WriteBatcher<OutboxDelivery, boolean>
  readonly #returned: WriteBatcher<EndedRow, boolean>
  readonly #ended: WriteBatcher<EndedRow, boolean>
  readonly #backoff = new SettleBackoff()

  constructor(settings: PostgresSettings, lease: ProcessLease, claimed: ClaimedRows, rounds: PollLoop) {
    const { pool } = settings
    this.#settings = settings
    this.#lease = lease
    this.#claimed = claimed
    this.#rounds = rounds
    this.#letters = new LetterTable(settings)
    this.#done = new WriteBatcher(MAX_PER_STATEMENT, deliveries => this.#markDone(deliveries))
    this.#returned = new WriteBatcher(MAX_PER_STATEMENT, rows => returnRows(pool, rows))
    this.#ended = new WriteBatcher(MAX_PER_STATEMENT, rows => recordEnds(pool, rows))
  }

  begin(delivery: OutboxDelivery, ended: readonly AttemptRecord[]): Promise<boolean> {
    if (ended.length > 0) return this.#beginNext(delivery, ended)
    delivery.recordStart()
    return this.#lease.beginAttempt(delivery)
  }

  /** Once it has resolved, the caller calls `settled`. That would cost every settlement another promise here. */
  settle(delivery: OutboxDelivery, settlement: Settlement): Promise<boolean> {
    try {
      return settlement.outcome === 'done'
        ? this.#settleDone(delivery)
        : this.#settleFailed(delivery, settlement)
    } catch (error) {
      // The codec may throw when it seals an error.
      return Promise.reject(error)
    }
  }

  /** The attempt ends only when the event is settled: if the process crashes before, the attempt must count. */
  settled(delivery: OutboxDelivery, settlement: Settlement): void {
    this.forget(delivery)
    this.#backoff.forget(delivery.seq)
    if ('notBefore' in settlement) this.#rounds.wakeIn(settlement.notBefore - this.#settings.clock.now())
  }

  /** Another process has the event, or will have it, or it is settled. This process does not change it any more. */
  forget(delivery: OutboxDelivery): void {
    this.#lease.endAttempt(delivery)
    this.#claimed.drop(delivery)
  }

  /** The attempts that ended in this process are written before the next one begins. */
  async #beginNext(delivery: OutboxDelivery, ended: readonly AttemptRecord[]): Promise<boolean> {
    const before = delivery.startedNow
    delivery.recordEnds(ended)
    delivery.recordStart()
    const isOpen = await this.#ended.add(endedRow(delivery, before, ended))
    return isOpen && this.#lease.beginAttempt(delivery)
  }

  #settleDone(delivery: OutboxDelivery): Promise<boolean> {
    const { replay } = delivery
    return replay === undefined ? this.#done.add(delivery) : this.#resolve(delivery, replay)
  }

  #settleFailed(
    delivery: OutboxDelivery,
    settlement: Exclude<Settlement, { readonly outcome: 'done' }>,
  ): Promise<boolean> {
    switch (settlement.outcome) {
      case 'retry': {
        const { ended, notBefore } = settlement
        delivery.recordEnds(ended)
        return this.#returned.add(endedRow(delivery, delivery.startedNow, ended, this.#delayUntil(notBefore)))
      }
      case 'release':
        return this.#returned.add(
          endedRow(delivery, delivery.attemptsTakenBack, [], this.#delayUntil(settlement.notBefore)),
        )
      case 'dead':
        return this.#markDead(delivery, settlement.letter, settlement.saved)
    }
  }

  /**
   * Makes the row pending as if it had not been delivered, but for the attempts that began. It never rejects: a row that
   * cannot be returned now is in flight without a delivery, and `ClaimedRows` finds it.
   */
  giveBack(delivery: OutboxDelivery): Promise<void> {
    return this.#return(delivery, endedRow(delivery, delivery.startedNow, []))
  }

  /**
   * Delivers the row again after a delay, because its settlement could not be recorded, or the start of its attempt. In
   * the second case there is no attempt. The run has ended, so nothing crashed. It never rejects.
   */
  async putOff(delivery: OutboxDelivery, settlement?: Settlement): Promise<void> {
    const isTakenBack = settlement === undefined || settlement.outcome === 'release'
    const attempts = isTakenBack ? delivery.attemptsTakenBack : delivery.startedNow
    const wanted =
      settlement !== undefined && 'notBefore' in settlement ? this.#delayUntil(settlement.notBefore) : 0
    const delayMs = Math.max(wanted, this.#backoff.next(delivery.seq))
    const row = endedRow(delivery, attempts, settlement?.outcome === 'retry' ? settlement.ended : [], delayMs)
    await this.#return(delivery, { ...row, ended: attempts - delivery.crashes })
    this.#rounds.wakeIn(delayMs)
  }

  async #return(delivery: OutboxDelivery, row: EndedRow): Promise<void> {
    try {
      await this.#returned.add(row)
      this.forget(delivery)
    } catch {
      this.#claimed.lose(delivery)
      this.#lease.endAttempt(delivery)
    }
  }

  /** Runs one statement for each owner and number of attempts. If one fails, the others still count. */
  async #markDone(deliveries: readonly OutboxDelivery[]): Promise<(boolean | Promise<boolean>)[]> {
    const { pool, delivered } = this.#settings
    if (deliveries.every(each => isAlike(each, deliveries[0]!))) return markDone(pool, deliveries, delivered)
    const alike = Map.groupBy(deliveries, ({ owner, startedNow }) => `${owner} ${startedNow}`)
    const answers = new Map<OutboxDelivery, boolean | Promise<boolean>>()
    const markGroup = async (group: readonly OutboxDelivery[]) => {
      try {
        const settled = await markDone(pool, group, delivered)
        for (const [index, each] of group.entries()) answers.set(each, settled[index]!)
      } catch (error) {
        for (const each of group) answers.set(each, rejected(error))
      }
    }
    await Promise.all(Array.from(alike.values(), markGroup))
    return deliveries.map(each => answers.get(each)!)
  }

  /** Resolves the letter in the transaction that settles its event: the letter may be kept here and nowhere else. */
  #resolve(delivery: OutboxDelivery, replay: DeliveredReplay): Promise<boolean> {
    const { pool, clock, delivered } = this.#settings
    return inTransaction(pool, 'settling an event as done', async client => {
      if (!(await lockOpen(client, delivery))) return false
      const resolved = { to: 'resolved', at: clock.now(), onlyIfSentBy: replay.claim } as const
      // SQL keeps the headers of an earlier replay, which may name a letter of another channel.
      for (const id of new Set([delivery.keptLetterId, replay.letterId]))
        if (id !== undefined) await this.#letters.endReplay(client, id, resolved)
      await markDone(client, [delivery], delivered)
      return true
    })
  }

  #markDead(delivery: OutboxDelivery, letter: DeadLetter, isSaved: boolean): Promise<boolean> {
    const { pool, clock } = this.#settings
    if (isSaved) return markFailedWithLetter(pool, delivery, letter, clock)
    return inTransaction(pool, 'settling an event as dead', async client => {
      if (!(await lockOpen(client, delivery))) return false
      await this.#letters.save(client, letter)
      const { replay } = delivery
      if (replay?.isRedirected) {
        const ended = { to: 'dead', at: clock.now(), onlyIfSentBy: replay.claim } as const
        await this.#letters.endReplay(client, replay.letterId!, ended)
      }
      return markFailed(client, delivery, letter, { clock, isKept: true })
    })
  }

  /** A delay does not depend on how far the server's clock differs from this one. */
  #delayUntil(notBefore: number): number {
    return Math.min(MAX_DELAY_MS, Math.max(0, notBefore - this.#settings.clock.now()))
  }
}

const FIRST_BACKOFF_MS = 100
const MAX_BACKOFF_MS = 60_000
const MAX_BACKOFF_ROWS = 10_000

/**
 * The wait of rows whose settlements fail. It grows every time, so that a settlement that cannot be recorded does not
 * cause a busy loop.
 */
class SettleBackoff {
  readonly #failures = new Map<number, number>()

  /** The delay after one more failure. */
  next(seq: number): number {
    const before = this.#failures.get(seq) ?? 0
    this.#failures.delete(seq)
    this.#failures.set(seq, before + 1)
    // Another process may have settled it: the row whose last failure is longest ago is forgotten.
    if (this.#failures.size > MAX_BACKOFF_ROWS) this.#failures.delete(this.#failures.keys().next().value!)
    return Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** before)
  }

  forget(seq: number): void {
    this.#failures.delete(seq)
  }
}

/** `settled` changes rows of `$1` and returns their numbers. The answer lists them only when some were not open. */
function answering(settled: string, before = ''): string {
  return `with ${before}settled as (${settled})
    select case when count(*) < cardinality($1::bigint[]) then coalesce(json_agg(seq), '[]')::text end as seqs from settled`
}

/** Answers for each row whether it was still open. */
async function settleRows(
  on: PgQueryable,
  doing: string,
  statement: string,
  rows: readonly { readonly seq: number }[],
  values: unknown[],
): Promise<boolean[]> {
  const answer = await runQuery(on, doing, statement, [arrayOf(rows.map(({ seq }) => seq)), ...values])
  const { seqs }: { readonly seqs: string | null } = answer.rows[0]
  const settled = seqs === null ? undefined : new Set<number>(JSON.parse(seqs))
  return rows.map(({ seq }) => settled?.has(seq) ?? true)
}

/** The columns that `outbox_delivered` takes over as they are. */
const DELIVERED_COLUMNS = `seq, event_id, foreign_id, idempotency_key, channel, type, key, source, target, payload,
      payload_bytes, sealed, headers, generation, attempt_log, next_attempt_at, last_error, first_failed_at,
      failure_history, replays, replay, letter_id, letter_kept, owner, occurred_at, expires_at, created_at`

const DELETE_DONE = `delete from lazaret.outbox o where o.seq = any ($1::bigint[]) and ${stillOpenFor('$2')}`
const DONE = {
  keep: answering(`update lazaret.outbox o set status = 'delivered', lane = null, delivered_at = statement_timestamp(),
      attempts = $3, attempts_ended = $3
    where o.seq = any ($1::bigint[]) and ${stillOpenFor('$2')} returning o.seq`),
  delete: answering(`${DELETE_DONE} returning o.seq`),
  partition: answering(
    `insert into lazaret.outbox_delivered (${DELIVERED_COLUMNS}, status, attempts, attempts_ended, delivered_at)
    select ${DELIVERED_COLUMNS}, 'delivered', $3, $3, statement_timestamp() from gone returning seq`,
    `gone as (${DELETE_DONE} returning o.*), `,
  ),
} as const

function isAlike(one: OutboxDelivery, other: OutboxDelivery): boolean {
  return one.owner === other.owner && one.startedNow === other.startedNow
}

/** Settles deliveries with the same owner and number of attempts. */
function markDone(
  on: PgQueryable,
  deliveries: readonly OutboxDelivery[],
  delivered: keyof typeof DONE,
): Promise<boolean[]> {
  const { owner, startedNow } = deliveries[0]!
  const values = delivered === 'delete' ? [owner] : [owner, startedNow]
  return settleRows(on, 'settling events as done', DONE[delivered], deliveries, values)
}

/** A row whose attempts have ended in this process. */
interface EndedRow {
  readonly seq: number
  readonly owner: number
  readonly attempts: number
  readonly ended: number
  readonly log: string | null
  readonly error: string | null
  readonly firstFailedAt: number | null
  /** For a row that becomes pending again. Null: it keeps its place. */
  readonly delayMs: number | null
}

const ENDED_COLUMNS = `$1::bigint[], $2::bigint[], $3::integer[], $4::integer[], ${unpackColumn(5)}, ${unpackColumn(6)},
    $7::float8[]`
const ENDED_NAMES = 'seq, owner, attempts, ended, log, error, "firstFailedAt"'
const SET_ENDED = `attempts = v.attempts, attempts_ended = v.ended, attempt_log = coalesce(v.log::json, o.attempt_log),
    last_error = coalesce(v.error, o.last_error),
    first_failed_at = coalesce(o.first_failed_at, to_timestamp(v."firstFailedAt" / 1000))`
const WHERE_OPEN = `o.seq = v.seq and o.seq = any ($1::bigint[]) and ${stillOpenFor('v.owner')} returning o.seq`

const RETURN = answering(`update lazaret.outbox o set status = 'pending', owner = null, ${SET_ENDED},
    next_attempt_at = coalesce(statement_timestamp() + v."delayMs" * interval '1 ms', o.next_attempt_at)
  from unnest(${ENDED_COLUMNS}, $8::float8[]) as v(${ENDED_NAMES}, "delayMs") where ${WHERE_OPEN}`)

const RECORD_ENDS = answering(`update lazaret.outbox o set ${SET_ENDED}
  from unnest(${ENDED_COLUMNS}) as v(${ENDED_NAMES}) where ${WHERE_OPEN}`)

function endedValues(rows: readonly EndedRow[]): unknown[] {
  return [
    arrayOf(rows.map(({ owner }) => owner)),
    arrayOf(rows.map(({ attempts }) => attempts)),
    arrayOf(rows.map(({ ended }) => ended)),
    packColumn(rows, ({ log }) => log),
    packColumn(rows, ({ error }) => error),
    arrayOf(rows.map(({ firstFailedAt }) => firstFailedAt)),
  ]
}

function returnRows(on: PgQueryable, rows: readonly EndedRow[]): Promise<boolean[]> {
  const values = [...endedValues(rows), arrayOf(rows.map(({ delayMs }) => delayMs))]
  return settleRows(on, 'giving events back', RETURN, rows, values)
}

/** Runs before the next attempt begins. */
function recordEnds(on: PgQueryable, rows: readonly EndedRow[]): Promise<boolean[]> {
  return settleRows(on, 'recording attempts', RECORD_ENDS, rows, endedValues(rows))
}

function endedRow(
  delivery: OutboxDelivery,
  attempts: number,
  ended: readonly AttemptRecord[],
  delayMs: number | null = null,
): EndedRow {
  const first = ended.find(hasFailed)
  const last = ended.findLast(hasFailed)?.failure
  return {
    seq: delivery.seq,
    owner: delivery.owner,
    attempts,
    ended: delivery.endedNow,
    log: delivery.attemptLog,
    error: last === undefined ? null : errorText(last, delivery.isSealed),
    firstFailedAt: first?.endedAt ?? null,
    delayMs,
  }
}

function hasFailed({ failure }: AttemptRecord): boolean {
  return failure !== undefined
}

/** A rejection that its caller may only await after other groups have ended. */
function rejected(error: unknown): Promise<never> {
  const promise = Promise.reject(error)
  promise.catch(() => {})
  return promise
}
