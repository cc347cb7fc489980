import type { DatabaseSync } from 'node:sqlite'
import type { ClaimAnswer } from '../connection/calls.ts'
import { all } from '../connection/rows.ts'

/** Entries looked at for each claim: more than one, so that the sweep outruns what is added. */
const SWEPT_PER_CLAIM = 2

interface Entry {
  readonly handler: string
  readonly key: string
  /** Null when it is done; then `until` is when that was. */
  readonly token: string | null
  readonly until: number
  /** How long it was taken for; null in a row of a version that did not keep it. */
  readonly lease: number | null
}

/**
 * A lease that has run out belongs to its token until someone else claims the pair: a handler that was slow, but alone,
 * may still complete.
 */
export class LedgerTable {
  readonly #find
  readonly #put
  readonly #change
  readonly #renew
  readonly #release
  readonly #forget
  readonly #behind
  readonly #delete
  #swept: readonly [string, string] = ['', '']

  constructor(db: DatabaseSync) {
    this.#find = db.prepare('select * from ledger where handler = ? and key = ?')
    this.#put = db.prepare(
      `insert into ledger(handler, key, token, until, lease) values(?, ?, ?, ?, ?)
       on conflict(handler, key)
       do update set token = excluded.token, until = excluded.until, lease = excluded.lease`,
    )
    this.#change = db.prepare(
      'update ledger set token = ?, until = ? where handler = ? and key = ? and token = ?',
    )
    this.#renew = db.prepare(
      'update ledger set until = ?, lease = ? where handler = ? and key = ? and token = ?',
    )
    this.#release = db.prepare('delete from ledger where handler = ? and key = ? and token = ?')
    this.#forget = db.prepare('delete from ledger where handler = ? and key = ? and token is null')
    this.#behind = db.prepare(
      'select * from ledger where (handler, key) > (?, ?) order by handler, key limit ?',
    )
    this.#delete = db.prepare('delete from ledger where handler = ? and key = ?')
  }

  claim(
    handler: string,
    key: string,
    token: string,
    leaseMs: number,
    retentionMs: number,
    now: number,
  ): ClaimAnswer {
    this.#forgetOld(now - retentionMs)
    const entry = this.#find.get(handler, key) as Entry | undefined
    if (entry !== undefined && entry.token === null && entry.until > now - retentionMs)
      return ['done', entry.until]
    if (entry !== undefined && entry.token !== null && entry.until > now)
      return ['busy', this.#bounded(entry, now)]
    this.#put.run(handler, key, token, now + leaseMs, leaseMs)
    return null
  }

  /** A lease that has more time left than it was taken for was taken before the clock was set back. */
  #bounded({ handler, key, token, until, lease }: Entry, now: number): number {
    if (lease === null || until <= now + lease) return until
    this.#change.run(token, now + lease, handler, key, token)
    return now + lease
  }

  renew(handler: string, key: string, token: string, leaseMs: number, now: number): boolean {
    return this.#renew.run(now + leaseMs, leaseMs, handler, key, token).changes === 1
  }

  complete(handler: string, key: string, token: string, now: number): boolean {
    return this.#change.run(null, now, handler, key, token).changes === 1
  }

  release(handler: string, key: string, token: string): boolean {
    return this.#release.run(handler, key, token).changes === 1
  }

  forget(handler: string, key: string): void {
    this.#forget.run(handler, key)
  }

  /** A few entries with every claim, round and round: the table is bounded, and no claim pays for all the others. */
  #forgetOld(before: number): void {
    const entries = all<Entry>(this.#behind, ...this.#swept, SWEPT_PER_CLAIM)
    for (const { handler, key, until } of entries) if (until <= before) this.#delete.run(handler, key)
    const last = entries.at(-1)
    this.#swept = last === undefined ? ['', ''] : [last.handler, last.key]
  }
}
