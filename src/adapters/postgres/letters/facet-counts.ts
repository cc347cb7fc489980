import type { PendingWork } from '../../../adapter-kit/pending-work.ts'
import type { PgPool } from '../connection/client.ts'
import { runQuery } from '../connection/query.ts'
import { FACET } from './letter-query.ts'

/** The count of every facet that has letters: the sum of the changes (schema/letter-counts). */
export const COUNTED = `counted as materialized (
  select facet, sum(letters) as letters, sum(replayed) as replayed from lazaret.letter_counts
  group by facet having sum(letters) > 0
)`

/** More changes than this are replaced by their sums. Reading so many takes a few milliseconds. */
const MAX_CHANGES = 10_000
/** So many at a time, which takes a fraction of a second. */
const FOLDED_AT_ONCE = 50_000

/** Changes that another process replaces at the same moment are skipped, so nobody waits. */
const FOLD = `with taken as (
    delete from lazaret.letter_counts
    where ctid = any (array(select ctid from lazaret.letter_counts limit $1 for update skip locked))
    returning facet, letters, replayed
  )
  insert into lazaret.letter_counts (facet, letters, replayed)
  select facet, sum(letters), sum(replayed) from taken group by facet
  having sum(letters) <> 0 or sum(replayed) <> 0`

/** Replaces changes by their sums when a count finds many of them. The count does not wait for it. */
export class CountFolder {
  readonly #pool: PgPool
  readonly #pending: PendingWork
  #isFolding = false
  #isClosed = false

  /** `pending` is the work that a store ends before it is closed. */
  constructor(pool: PgPool, pending: PendingWork) {
    this.#pool = pool
    this.#pending = pending
  }

  /** Called with the number of changes that a count has read. */
  see(changes: number): void {
    if (changes <= MAX_CHANGES || this.#isFolding) return
    this.#isFolding = true
    this.#pending.begin()
    // A server that only reads keeps all changes, and its counts are right nevertheless.
    void this.#fold(Math.ceil(changes / FOLDED_AT_ONCE))
      .catch(() => {})
      .finally(() => {
        this.#isFolding = false
        this.#pending.end()
      })
  }

  /** Ends after the statement under way. */
  close(): void {
    this.#isClosed = true
  }

  async #fold(times: number): Promise<void> {
    for (let time = 0; time < times && !this.#isClosed; time++)
      await runQuery(this.#pool, 'adding up counts of dead letters', FOLD, [FOLDED_AT_ONCE])
  }
}

/** The first letter of facet `f` by a time, as a lateral join: `asc` finds the oldest, `desc` the newest. */
export function endOf(column: 'first_failed_at' | 'last_failed_at', direction: 'asc' | 'desc'): string {
  // There is a condition on the time always: without one the planner may sort whole facets.
  return `lateral (select d.${column} as at from lazaret.dead_letters d
    where ${FACET} = f.id and d.${column} >= '-infinity'
    order by d.${column} ${direction}, d.id ${direction} limit 1)`
}
