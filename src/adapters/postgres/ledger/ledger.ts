import { createIdSource, type IdSource } from '../../../core/event/uuid.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Claim, Ledger } from '../../../ports/ledger.ts'
import { StoreClosedError } from '../../../ports/store.ts'
import { ask } from '../connection/ask.ts'
import type { PgPool, PgQueryable } from '../connection/client.ts'
import { asMs, holdable } from '../connection/text.ts'
import type { PostgresSettings } from '../options.ts'
import { OwnClaims } from './own-claims.ts'

/** Handled so long ago that it counts as never handled. */
const FORGOTTEN = (parameter: number) =>
  `h.handled_at < clock_timestamp() - $${parameter}::float8 * interval '1 ms'`

const CLAIM = `insert into lazaret.event_handled as h (handler, idempotency_key, token, lease_until)
  values ($1, $2, $3, clock_timestamp() + $4::float8 * interval '1 ms')
  on conflict (handler, idempotency_key) do update
    set token = excluded.token, lease_until = excluded.lease_until, handled_at = null
    where (h.handled_at is null and (h.lease_until <= clock_timestamp() or h.token = excluded.token)) or ${FORGOTTEN(5)}`

const RECORD = `insert into lazaret.event_handled as h (handler, idempotency_key, handled_at)
  values ($1, $2, clock_timestamp())
  on conflict (handler, idempotency_key) do update
    set token = null, lease_until = null, handled_at = excluded.handled_at
    where h.handled_at is null or ${FORGOTTEN(3)}`

/**
 * Twice as many are forgotten as were added since the last time, so that the table is bounded. Only those of the handlers
 * that this ledger works for: others may be kept longer.
 */
const CALLS_PER_SWEEP = 500
const SWEEP = `delete from lazaret.event_handled where (handler, idempotency_key) in (
  select handler, idempotency_key from lazaret.event_handled
  where coalesce(handled_at, lease_until) < clock_timestamp() - $1::float8 * interval '1 ms'
    and handler = any ($2::text[])
  order by coalesce(handled_at, lease_until) limit ${2 * CALLS_PER_SWEEP} for update skip locked)`

const HELD = 'handler = $1 and idempotency_key = $2 and token = $3'

/** Which events were handled, in the same database as what handling them has changed. */
export class PostgresLedger implements Ledger {
  readonly #pool: PgPool
  readonly #clock: Clock
  readonly #retentionMs: number
  readonly #newToken: IdSource
  readonly #handlers = new Set<string>()
  readonly #own = new OwnClaims()
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
   * Records in the handler's own transaction that the event is handled: with what the handler writes, or not at all. False
   * when it was handled before: then there is nothing to do. Of two at the same moment the second waits for the first.
   */
  async record(tx: PgQueryable, handler: string, key: string): Promise<boolean> {
    this.#requireOpen()
    this.#sweepNowAndThen(handler)
    const values = [holdable(handler), holdable(key), this.#retentionMs]
    return (await ask(tx, 'recording that an event is handled', RECORD, values)).rowCount !== 0
  }

  async claim(handler: string, key: string, leaseMs: number): Promise<Claim> {
    this.#requireOpen()
    this.#sweepNowAndThen(handler)
    const token = this.#own.tokenOf(handler, key) ?? this.#newToken(this.#clock.now())
    const pair = [holdable(handler), holdable(key)]
    for (;;) {
      const claim = this.#run('claiming an event', CLAIM, [...pair, token, leaseMs, this.#retentionMs])
      if (await this.#settled(claim, handler, key, token)) return { kind: 'claimed', token }
      const { rows } = await ask(
        this.#pool,
        'claiming an event',
        `select floor(${asMs('handled_at')}) as at, floor(${asMs('lease_until')}) as until
         from lazaret.event_handled where handler = $1 and idempotency_key = $2`,
        pair,
      )
      // Released in between: it can be claimed now.
      if (rows.length === 0) continue
      const { at, until } = rows[0]
      return at === null ? { kind: 'busy', until } : { kind: 'done', at }
    }
  }

  renew(handler: string, key: string, token: string, leaseMs: number): Promise<boolean> {
    return this.#run(
      'renewing a claim',
      `update lazaret.event_handled set lease_until = clock_timestamp() + $4::float8 * interval '1 ms' where ${HELD}`,
      [holdable(handler), holdable(key), token, leaseMs],
    )
  }

  complete(handler: string, key: string, token: string): Promise<boolean> {
    const completed = this.#run(
      'completing a claim',
      `update lazaret.event_handled set token = null, lease_until = null, handled_at = clock_timestamp() where ${HELD}`,
      [holdable(handler), holdable(key), token],
    )
    return this.#settled(completed, handler, key, token)
  }

  release(handler: string, key: string, token: string): Promise<boolean> {
    const released = this.#run('releasing a claim', `delete from lazaret.event_handled where ${HELD}`, [
      holdable(handler),
      holdable(key),
      token,
    ])
    return this.#settled(released, handler, key, token)
  }

  async forget(handler: string, key: string): Promise<void> {
    await this.#run(
      'forgetting an event',
      `delete from lazaret.event_handled where handler = $1 and idempotency_key = $2 and handled_at is not null`,
      [holdable(handler), holdable(key)],
    )
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#sweeping
  }

  /** Never in the caller's transaction, and never waited for: if it fails, the next one makes up for it. */
  #sweepNowAndThen(handler: string): void {
    this.#handlers.add(holdable(handler))
    if (++this.#calls < CALLS_PER_SWEEP || this.#sweeping !== undefined) return
    const handlers = [...this.#handlers]
    this.#handlers.clear()
    this.#calls = 0
    this.#sweeping = ask(this.#pool, 'forgetting old events', SWEEP, [this.#retentionMs, handlers])
      .catch(() => {})
      .finally(() => {
        this.#sweeping = undefined
      })
  }

  /** Whoever is told that it failed works on the event no more; what the database has of it is in doubt. */
  async #settled(asked: Promise<boolean>, handler: string, key: string, token: string): Promise<boolean> {
    try {
      const answer = await asked
      this.#own.isKnown(handler, key)
      return answer
    } catch (error) {
      this.#own.isInDoubt(handler, key, token)
      throw error
    }
  }

  async #run(doing: string, statement: string, values: unknown[]): Promise<boolean> {
    this.#requireOpen()
    return (await ask(this.#pool, doing, statement, values)).rowCount !== 0
  }

  #requireOpen(): void {
    if (this.#isClosed) throw new StoreClosedError('ledger')
  }
}
