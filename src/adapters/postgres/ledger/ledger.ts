import { createIdSource, type IdSource } from '../../../core/event/uuid.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Claim, Ledger } from '../../../ports/ledger.ts'
import { StoreClosedError } from '../../../ports/store.ts'
import type { PgPool, PgQueryable } from '../connection/client.ts'
import { runQuery } from '../connection/query.ts'
import { asInterval, asMs, storableText } from '../connection/values.ts'
import type { PostgresSettings } from '../options.ts'

/** The event was handled so long ago that the record no longer counts. */
const isForgotten = (parameter: number) => `h.handled_at < clock_timestamp() - ${asInterval(parameter)}`

const CLAIM = `insert into lazaret.event_handled as h (handler, idempotency_key, token, lease_until)
  values ($1, $2, $3, clock_timestamp() + ${asInterval(4)})
  on conflict (handler, idempotency_key) do update
    set token = excluded.token, lease_until = excluded.lease_until, handled_at = null
    where (h.handled_at is null and (h.lease_until <= clock_timestamp() or h.token = excluded.token)) or ${isForgotten(5)}`

const RECORD = `insert into lazaret.event_handled as h (handler, idempotency_key, handled_at)
  values ($1, $2, clock_timestamp())
  on conflict (handler, idempotency_key) do update
    set token = null, lease_until = null, handled_at = excluded.handled_at
    where h.handled_at is null or ${isForgotten(3)}`

const PAIR = 'handler = $1 and idempotency_key = $2'
const HELD = `${PAIR} and token = $3`
const READ = `select floor(${asMs('handled_at')}) as at, floor(${asMs('lease_until')}) as until
  from lazaret.event_handled where ${PAIR}`
const RENEW = `update lazaret.event_handled set lease_until = clock_timestamp() + ${asInterval(4)} where ${HELD}`
const COMPLETE = `update lazaret.event_handled set token = null, lease_until = null, handled_at = clock_timestamp()
  where ${HELD}`
const RELEASE = `delete from lazaret.event_handled where ${HELD}`
const FORGET = `delete from lazaret.event_handled where ${PAIR} and handled_at is not null`

/**
 * Each sweep deletes at most twice as many rows as calls were made since the last one, so the table is bounded. It only
 * deletes rows of the handlers that this ledger works for: other ledgers may keep theirs longer.
 */
const CALLS_PER_SWEEP = 500
const SWEEP = `delete from lazaret.event_handled where (handler, idempotency_key) in (
  select handler, idempotency_key from lazaret.event_handled
  where coalesce(handled_at, lease_until) < clock_timestamp() - ${asInterval(1)}
    and handler = any ($2::text[])
  order by coalesce(handled_at, lease_until) limit ${2 * CALLS_PER_SWEEP} for update skip locked)`

/** The handled events, in the same database as the changes of their handlers. */
export class PostgresLedger implements Ledger {
  readonly #pool: PgPool
  readonly #clock: Clock
  readonly #retentionMs: number
  readonly #newToken: IdSource
  readonly #handlers = new Set<string>()
  readonly #inDoubt = new ClaimsInDoubt()
  #calls = 0
  #sweeping: Promise<unknown> | undefined
  #isClosed = false

  constructor({ pool, clock, random, ledgerRetentionMs }: PostgresSettings) {
    this.#pool = pool
    this.#clock = clock
    this.#retentionMs = ledgerRetentionMs
    this.#newToken = createIdSource(random)
  }

  /**
   * Records in the handler's own transaction that the event is handled: with the handler's changes, or not at all. False
   * when it was handled before: then there is nothing to do. Of two at the same moment the second waits for the first.
   */
  async record(tx: PgQueryable, handler: string, key: string): Promise<boolean> {
    this.#requireOpen()
    this.#sweepNowAndThen(handler)
    const values = [storableText(handler), storableText(key), this.#retentionMs]
    return (await runQuery(tx, 'recording that an event is handled', RECORD, values)).rowCount !== 0
  }

  async claim(handler: string, key: string, leaseMs: number): Promise<Claim> {
    this.#requireOpen()
    this.#sweepNowAndThen(handler)
    const token = this.#inDoubt.tokenOf(handler, key) ?? this.#newToken(this.#clock.now())
    const doing = 'claiming an event'
    for (;;) {
      const claim = this.#run(doing, CLAIM, handler, key, token, leaseMs, this.#retentionMs)
      if (await this.#settled(claim, handler, key, token)) return { kind: 'claimed', token }
      const { rows } = await runQuery(this.#pool, doing, READ, [storableText(handler), storableText(key)])
      // Released in between: it can be claimed now.
      if (rows.length === 0) continue
      const { at, until } = rows[0]
      return at === null ? { kind: 'busy', until } : { kind: 'done', at }
    }
  }

  renew(handler: string, key: string, token: string, leaseMs: number): Promise<boolean> {
    return this.#run('renewing a claim', RENEW, handler, key, token, leaseMs)
  }

  complete(handler: string, key: string, token: string): Promise<boolean> {
    const completed = this.#run('completing a claim', COMPLETE, handler, key, token)
    return this.#settled(completed, handler, key, token)
  }

  release(handler: string, key: string, token: string): Promise<boolean> {
    const released = this.#run('releasing a claim', RELEASE, handler, key, token)
    return this.#settled(released, handler, key, token)
  }

  async forget(handler: string, key: string): Promise<void> {
    await this.#run('forgetting an event', FORGET, handler, key)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#sweeping
  }

  /** Runs outside the caller's transaction, and nobody awaits it. If it fails, the next one deletes more. */
  #sweepNowAndThen(handler: string): void {
    this.#handlers.add(storableText(handler))
    if (++this.#calls < CALLS_PER_SWEEP || this.#sweeping !== undefined) return
    const handlers = [...this.#handlers]
    this.#handlers.clear()
    this.#calls = 0
    this.#sweeping = runQuery(this.#pool, 'forgetting old events', SWEEP, [this.#retentionMs, handlers])
      .catch(() => {})
      .finally(() => {
        this.#sweeping = undefined
      })
  }

  /** After an error the caller stops working on the event, and the claim in the database is in doubt. */
  async #settled(answer: Promise<boolean>, handler: string, key: string, token: string): Promise<boolean> {
    try {
      const isHeld = await answer
      this.#inDoubt.delete(handler, key)
      return isHeld
    } catch (error) {
      this.#inDoubt.add(handler, key, token)
      throw error
    }
  }

  async #run(doing: string, statement: string, handler: string, key: string, ...values: unknown[]) {
    this.#requireOpen()
    const pair = [storableText(handler), storableText(key)]
    return (await runQuery(this.#pool, doing, statement, [...pair, ...values])).rowCount !== 0
  }

  #requireOpen(): void {
    if (this.#isClosed) throw new StoreClosedError('ledger')
  }
}

/** A process has fewer claims in doubt than this. Beyond it the oldest waits for its lease to end. */
const MAX_IN_DOUBT = 10_000

/**
 * Claims of this process whose last answer was lost, as when a connection is killed: the claim may be in the database,
 * and nobody works on it. The next claim uses the same token, so the event need not wait until the lease is over.
 */
class ClaimsInDoubt {
  readonly #tokens = new Map<string, string>()

  tokenOf(handler: string, key: string): string | undefined {
    return this.#tokens.get(JSON.stringify([handler, key]))
  }

  add(handler: string, key: string, token: string): void {
    if (this.#tokens.size >= MAX_IN_DOUBT) this.#tokens.delete(this.#tokens.keys().next().value!)
    this.#tokens.set(JSON.stringify([handler, key]), token)
  }

  delete(handler: string, key: string): void {
    if (this.#tokens.size > 0) this.#tokens.delete(JSON.stringify([handler, key]))
  }
}
