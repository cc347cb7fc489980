import { SharedWriteBatcher } from '../../../adapter-kit/write-batcher.ts'
import { LeaseWitness } from '../../../core/lease-witness.ts'
import { StoreClosedError } from '../../../ports/store.ts'
import type { PgQueryable } from '../connection/client.ts'
import { runQuery } from '../connection/query.ts'
import { arrayOf, asInterval } from '../connection/values.ts'
import type { PostgresSettings } from '../options.ts'
import type { HeldRow, RowClaim } from './claimed-rows.ts'

const MAX_PER_WRITE = 10_000
const ORPHANS_PER_STEP = 5_000

/**
 * The lease of this process: a row of `outbox_owners` that it renews all the time. Its rows in flight name that owner, so
 * one small update keeps all of them. The owner's row also lists the attempts that have begun: when this process dies,
 * the process that takes its rows back counts those attempts, and only those.
 */
export class ProcessLease {
  readonly #settings: Pick<PostgresSettings, 'pool' | 'clock' | 'leaseMs'>
  readonly #witness: LeaseWitness
  /** The claim whose attempt runs, by the number of the row. */
  readonly #running = new Map<number, number>()
  #written = new Set<number>()
  readonly #writes: SharedWriteBatcher<undefined, number | undefined>
  /** Rows whose attempts their claims have recorded, until the attempts begin. */
  readonly #recorded = new Set<HeldRow>()
  /** The list may name a row whose attempt has not begun: its claim has failed, or its delivery has to wait. */
  #listsTooMany = false
  #owner: Promise<number> | undefined
  /** The number of the owner, once it is known. */
  #current: number | undefined
  #isReleased = false
  #nextOrphan = 0

  constructor(settings: Pick<PostgresSettings, 'pool' | 'clock' | 'leaseMs'>) {
    this.#settings = settings
    this.#witness = new LeaseWitness(settings.leaseMs)
    this.#writes = new SharedWriteBatcher(MAX_PER_WRITE, () => this.#writeAttempts())
  }

  /** The number of the owner. It is registered when it is first needed. */
  owner(): Promise<number> {
    if (this.#isReleased) return Promise.reject(new StoreClosedError('outbox'))
    this.#owner ??= this.#register()
    return this.#owner
  }

  /** Renews the lease. If it was lost, the rows of the owner are lost and the next call registers a new one. */
  async renew(on: PgQueryable): Promise<void> {
    if (this.#owner === undefined) return
    const owner = await this.#owner
    const { rowCount } = await runQuery(
      on,
      'renewing a lease',
      `update lazaret.outbox_owners set lease_until = clock_timestamp() + ${asInterval(2)} where id = $1`,
      [owner, this.#settings.leaseMs],
    )
    if (rowCount === 0) this.#startOver(owner)
    else this.#witness.renewed(this.#settings.clock.now())
  }

  /**
   * Makes the rows of dead processes pending again, and answers how many there were. A process that released its lease is
   * gone. A process whose lease ran out may only have been as unable to renew it as this one was.
   */
  async reclaim(): Promise<number> {
    const { rows } = await runQuery(
      this.#settings.pool,
      'looking for dead processes',
      'select lazaret.outbox_reclaim($1, $2) as count',
      [!this.#witness.canJudgeOthers(this.#settings.clock.now()), this.#current ?? null],
    )
    return rows[0].count
  }

  /**
   * Makes rows pending again whose owner does not exist, among the next few by number, and answers how many there were.
   * There should be none: this is the safety net under everything that should have given them back.
   */
  async reclaimOrphans(): Promise<number> {
    const { rows } = await runQuery(
      this.#settings.pool,
      'looking for events without an owner',
      'select found, next::float8 as next from lazaret.outbox_give_back_strays($1::bigint, $2::integer)',
      [this.#nextOrphan, ORPHANS_PER_STEP],
    )
    this.#nextOrphan = rows[0].next ?? 0
    return rows[0].found
  }

  /** Gives back all rows in flight but these, which these claims took. An attempt that had begun counts, but not as a crash. */
  async giveBackOthers(held: readonly HeldRow[], claims: readonly number[]): Promise<void> {
    if (this.#listsTooMany) await this.#writes.add(undefined)
    const id = await this.owner()
    const own = held.filter(({ owner }) => owner === id)
    const doing = 'looking for forgotten events'
    await runQuery(
      this.#settings.pool,
      doing,
      `update lazaret.outbox o set status = 'pending', owner = null,
         attempts = o.attempts + case when o.seq = any (w.running) then 1 else 0 end,
         attempts_ended = o.attempts_ended + case when o.seq = any (w.running) then 1 else 0 end
       from lazaret.outbox_owners w
       where w.id = $1 and o.owner = w.id and o.status = 'in_flight' and o.seq = any (array(
         select unnest(seqs) from lazaret.outbox_claims where owner = $1 except select unnest($2::bigint[])))`,
      [id, arrayOf(own.map(({ seq }) => seq))],
    )
    await runQuery(
      this.#settings.pool,
      doing,
      'delete from lazaret.outbox_claims where owner = $1 and number <> all ($2::bigint[])',
      [id, arrayOf(claims)],
    )
  }

  /** Records that an attempt begins. False when its lease was lost: then another process has the event, or will. */
  beginAttempt(row: HeldRow): Promise<boolean> {
    if (row.owner !== this.#current) return Promise.resolve(false)
    if (this.#recorded.delete(row)) return Promise.resolve(true)
    this.#running.set(row.seq, row.claim)
    return this.#writes.add(undefined).then(writtenFor => {
      const isAlive = writtenFor === row.owner
      if (!isAlive) this.endAttempt(row)
      return isAlive
    })
  }

  /**
   * Makes a claim that records the attempt of its first row too. It gets the attempts that run now, because it writes the
   * list. Undefined if the list is being written: two writers would overwrite each other's attempts. If the attempt does not
   * begin at once, the caller calls `takeBackRecorded`.
   */
  recordWithClaim<R extends HeldRow>(
    claim: (running: readonly number[]) => Promise<R[]>,
  ): Promise<R[]> | undefined {
    return this.#writes.insteadOfWrite(async () => {
      const running = [...this.#running.keys()]
      for (const seq of running) this.#written.add(seq)
      try {
        const rows = await claim(running)
        const [first] = rows
        if (first !== undefined && first.owner === this.#current) {
          this.#running.set(first.seq, first.claim)
          this.#written = new Set(running).add(first.seq)
          this.#recorded.add(first)
        }
        return rows
      } catch (error) {
        this.#listsTooMany = true
        throw error
      }
    })
  }

  /** The attempt that a claim has recorded does not begin. It is removed from the list, so that a crash does not count it. */
  async takeBackRecorded(row: HeldRow): Promise<void> {
    this.loseRecorded(row)
    if (this.#listsTooMany) await this.#writes.add(undefined)
  }

  /** The same, but the list is written before the next check of the rows in flight. */
  loseRecorded(row: HeldRow): void {
    if (!this.#recorded.delete(row)) return
    this.endAttempt(row)
    this.#listsTooMany = true
  }

  /** The end is written together with the next attempt that begins. */
  endAttempt({ seq, claim }: RowClaim): void {
    if (this.#running.get(seq) === claim) this.#running.delete(seq)
  }

  /** Rows that are claimed again must not look as if an attempt had begun, unless their claim has recorded one. */
  async forgetAttempts(rows: readonly RowClaim[]): Promise<void> {
    const others = rows.filter(({ seq, claim }) => this.#running.get(seq) !== claim)
    for (const { seq } of others) this.#running.delete(seq)
    if (others.some(({ seq }) => this.#written.has(seq))) await this.#writes.add(undefined)
  }

  /** Ends the lease, and makes rows that are still in flight pending. If that fails, the lease runs out. */
  async release(): Promise<void> {
    this.#isReleased = true
    const owner = await this.#owner?.catch(() => undefined)
    this.#owner = undefined
    if (owner === undefined) return
    const end = `update lazaret.outbox_owners set lease_until = '-infinity' where id = $1`
    await runQuery(this.#settings.pool, 'resigning', end, [owner])
      .then(() => this.reclaim())
      .catch(() => {})
  }

  async #register(): Promise<number> {
    try {
      const { rows } = await runQuery(
        this.#settings.pool,
        'registering a consumer',
        `insert into lazaret.outbox_owners (lease_until) values (clock_timestamp() + ${asInterval(1)})
         returning id::float8 as id`,
        [this.#settings.leaseMs],
      )
      this.#current = rows[0].id as number
      this.#witness.renewed(this.#settings.clock.now())
      return this.#current
    } catch (error) {
      this.#owner = undefined
      throw error
    }
  }

  /** Returns the owner whose list was written; undefined if the owner no longer exists. */
  async #writeAttempts(): Promise<number | undefined> {
    const owner = await this.owner()
    const running = [...this.#running.keys()]
    // The list may be written even if the answer is lost.
    for (const seq of running) this.#written.add(seq)
    const { rowCount } = await runQuery(
      this.#settings.pool,
      'recording attempts',
      'update lazaret.outbox_owners set running = $2::bigint[] where id = $1',
      [owner, arrayOf(running)],
    )
    this.#listsTooMany = false
    if (rowCount !== 0) {
      if (owner === this.#current) this.#written = new Set(running)
      return owner
    }
    this.#startOver(owner)
    return undefined
  }

  /** An answer may arrive late, when a new owner is registered already. The new owner stays. */
  #startOver(owner: number): void {
    if (owner !== this.#current) return
    this.#owner = undefined
    this.#current = undefined
    this.#recorded.clear()
    this.#running.clear()
    this.#written.clear()
  }
}
