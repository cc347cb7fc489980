import { Gathering } from '../../../adapter-kit/gathering.ts'
import { Steadiness } from '../../../core/steadiness.ts'
import type { Clock } from '../../../ports/clock.ts'
import { StoreClosedError } from '../../../ports/store.ts'
import { ask } from '../connection/ask.ts'
import type { PgPool, PgQueryable } from '../connection/client.ts'
import { numbers } from '../connection/columns.ts'
import type { Holding, Taken } from './holdings.ts'

const MOST_AT_ONCE = 10_000

/**
 * This process as others see it: a row whose lease is renewed all the time. What it has in flight names it, so that one
 * small update keeps the leases of all of them. Which attempts have begun is written there too, as one list: when this
 * process dies under them, whoever takes its rows back counts those attempts, and only those.
 */
export class Owner {
  readonly #pool: PgPool
  readonly #leaseMs: number
  readonly #clock: Clock
  readonly #steadiness: Steadiness
  /** By the number of the row: which claim's attempt it is. */
  readonly #running = new Map<number, number>()
  #written = new Set<number>()
  readonly #writing: Gathering<undefined, number | undefined>
  #id: Promise<number> | undefined
  /** The same when it is known. */
  #current: number | undefined
  #hasResigned = false

  constructor(pool: PgPool, leaseMs: number, clock: Clock) {
    this.#pool = pool
    this.#leaseMs = leaseMs
    this.#clock = clock
    this.#steadiness = new Steadiness(leaseMs)
    this.#writing = new Gathering(MOST_AT_ONCE, async items => {
      const writtenFor = await this.#write()
      return items.map(() => writtenFor)
    })
  }

  /** Its number, registered when it is first needed. */
  id(): Promise<number> {
    if (this.#hasResigned) return Promise.reject(new StoreClosedError('outbox'))
    this.#id ??= this.#register()
    return this.#id
  }

  /** Renews the lease; when it was lost, there is a new owner from now on, and what the old one had is lost. */
  async beat(on: PgQueryable): Promise<void> {
    if (this.#id === undefined) return
    const id = await this.#id
    const { rowCount } = await ask(
      on,
      'renewing a lease',
      `update lazaret.outbox_owners set lease_until = clock_timestamp() + $2::float8 * interval '1 ms' where id = $1`,
      [id, this.#leaseMs],
    )
    if (rowCount === 0) this.#startOver(id)
    else this.#steadiness.renewed(this.#clock.now())
  }

  /**
   * Gives what dead processes had to whoever comes next; answers how many rows that were. Who has resigned is gone; who
   * has only not renewed its lease may have been as unable to as this process was.
   */
  async reclaim(): Promise<number> {
    const { rows } = await ask(
      this.#pool,
      'looking for dead processes',
      'select lazaret.outbox_reclaim($1, $2) as count',
      [!this.#steadiness.isSteady(this.#clock.now()), this.#current ?? null],
    )
    return rows[0].count
  }

  /** Gives back what it has in flight but for these, which these claims took. An attempt that had begun counts, as no crash: this lives. */
  async giveBackOthers(held: readonly Holding[], claims: readonly number[]): Promise<void> {
    const id = await this.id()
    const own = held.filter(({ owner }) => owner === id)
    const doing = 'looking for forgotten events'
    await ask(
      this.#pool,
      doing,
      `update lazaret.outbox o set status = 'pending', owner = null,
         attempts = o.attempts + case when o.seq = any (w.running) then 1 else 0 end,
         attempts_ended = o.attempts_ended + case when o.seq = any (w.running) then 1 else 0 end
       from lazaret.outbox_owners w
       where w.id = $1 and o.owner = w.id and o.status = 'in_flight' and o.seq = any (array(
         select unnest(seqs) from lazaret.outbox_claims where owner = $1 except select unnest($2::bigint[])))`,
      [id, numbers(own.map(({ seq }) => seq))],
    )
    await ask(
      this.#pool,
      doing,
      'delete from lazaret.outbox_claims where owner = $1 and number <> all ($2::bigint[])',
      [id, numbers(claims)],
    )
  }

  /** An attempt begins. False when who claimed it is taken for dead: then somebody else has the event, or will. */
  async begin(holding: Holding): Promise<boolean> {
    if (holding.owner !== this.#current) return false
    this.#running.set(holding.seq, holding.claim)
    const isAlive = (await this.#writing.add(undefined)) === holding.owner
    if (!isAlive) this.end(holding)
    return isAlive
  }

  /** The attempt is over; that it is, is written with the next that begins. */
  end({ seq, claim }: Taken): void {
    if (this.#running.get(seq) === claim) this.#running.delete(seq)
  }

  /** What is claimed again must not look begun because of an attempt that is over. */
  async forgetAttempts(seqs: readonly number[]): Promise<void> {
    for (const seq of seqs) this.#running.delete(seq)
    if (seqs.some(seq => this.#written.has(seq))) await this.#writing.add(undefined)
  }

  /** Ends the lease; what should still be in flight goes to others. If it cannot be told, the lease runs out. */
  async resign(): Promise<void> {
    this.#hasResigned = true
    const id = await this.#id?.catch(() => undefined)
    this.#id = undefined
    if (id === undefined) return
    const end = `update lazaret.outbox_owners set lease_until = '-infinity' where id = $1`
    await ask(this.#pool, 'resigning', end, [id])
      .then(() => this.reclaim())
      .catch(() => {})
  }

  async #register(): Promise<number> {
    try {
      const { rows } = await ask(
        this.#pool,
        'registering a consumer',
        `insert into lazaret.outbox_owners (lease_until) values (clock_timestamp() + $1::float8 * interval '1 ms')
         returning id::float8 as id`,
        [this.#leaseMs],
      )
      this.#current = rows[0].id as number
      this.#steadiness.renewed(this.#clock.now())
      return this.#current
    } catch (error) {
      this.#id = undefined
      throw error
    }
  }

  /** The owner whose list was written; undefined when it is taken for dead. */
  async #write(): Promise<number | undefined> {
    const id = await this.id()
    const running = [...this.#running.keys()]
    // Should the answer be lost, it may be written all the same.
    for (const seq of running) this.#written.add(seq)
    const { rowCount } = await ask(
      this.#pool,
      'recording attempts',
      'update lazaret.outbox_owners set running = $2::bigint[] where id = $1',
      [id, numbers(running)],
    )
    if (rowCount !== 0) {
      if (id === this.#current) this.#written = new Set(running)
      return id
    }
    this.#startOver(id)
    return undefined
  }

  /** The answer may be late, when there is a new owner already: that one is let alone. */
  #startOver(id: number): void {
    if (id !== this.#current) return
    this.#id = undefined
    this.#current = undefined
    this.#running.clear()
    this.#written.clear()
  }
}
