import type { Database } from '../connection/database.ts'
import type { WriterContext } from '../connection/writer-context.ts'

/** The number of old entries that each claim checks. It exceeds one, so that more entries can be removed than are added. */
const CHECKED_PER_CLAIM = 2

interface LedgerRow {
  readonly handler: string
  readonly key: string
  /** Null when it is done; then `until` is when that was. */
  readonly token: string | null
  readonly until: number
  /** The length of the lease; null in rows of a version without this column. */
  readonly lease: number | null
}

/**
 * An expired lease belongs to its token until another process claims the pair, so that a slow handler without a
 * competitor can still complete.
 */
export class LedgerTable {
  readonly #db: Database
  readonly #context: WriterContext
  #checkedUpTo: readonly [string, string] = ['', '']

  constructor(db: Database, context: WriterContext) {
    this.#db = db
    this.#context = context
  }

  /** Null when it is claimed. */
  claim(
    handler: string,
    key: string,
    token: string,
    leaseMs: number,
    retentionMs: number,
  ): readonly ['busy' | 'done', number] | null {
    const { now } = this.#context
    this.#forgetOld(now - retentionMs)
    const entry = this.#db.get<LedgerRow>`select * from ledger where handler = ${handler} and key = ${key}`
    if (entry !== undefined && entry.token === null && entry.until > now - retentionMs)
      return ['done', entry.until]
    if (entry !== undefined && entry.token !== null && entry.until > now)
      return ['busy', this.#bounded(entry)]
    this.#db.run`insert into ledger(handler, key, token, until, lease)
      values(${handler}, ${key}, ${token}, ${now + leaseMs}, ${leaseMs})
      on conflict(handler, key)
      do update set token = excluded.token, until = excluded.until, lease = excluded.lease`
    return null
  }

  renew(handler: string, key: string, token: string, leaseMs: number): boolean {
    const renewed = this.#db.run`update ledger set until = ${this.#context.now + leaseMs}, lease = ${leaseMs}
      where handler = ${handler} and key = ${key} and token = ${token}`
    return renewed === 1
  }

  complete(handler: string, key: string, token: string): boolean {
    const completed = this.#db.run`update ledger set token = null, until = ${this.#context.now}
      where handler = ${handler} and key = ${key} and token = ${token}`
    return completed === 1
  }

  release(handler: string, key: string, token: string): boolean {
    return (
      this.#db.run`delete from ledger where handler = ${handler} and key = ${key} and token = ${token}` === 1
    )
  }

  forget(handler: string, key: string): void {
    this.#db.run`delete from ledger where handler = ${handler} and key = ${key} and token is null`
  }

  /** If a lease has more time left than its length, it was taken before the clock was set back. */
  #bounded({ handler, key, until, lease }: LedgerRow): number {
    const { now } = this.#context
    if (lease === null || until <= now + lease) return until
    this.#db.run`update ledger set until = ${now + lease} where handler = ${handler} and key = ${key}`
    return now + lease
  }

  /** A few entries with every claim, round and round: the table is bounded, and no claim pays for all the others. */
  #forgetOld(before: number): void {
    const [afterHandler, afterKey] = this.#checkedUpTo
    const entries = this.#db.all<LedgerRow>`select * from ledger
      where (handler, key) > (${afterHandler}, ${afterKey}) order by handler, key limit ${CHECKED_PER_CLAIM}`
    for (const { handler, key, until } of entries)
      if (until <= before) this.#db.run`delete from ledger where handler = ${handler} and key = ${key}`
    const last = entries.at(-1)
    this.#checkedUpTo = last === undefined ? ['', ''] : [last.handler, last.key]
  }
}
