import type { Database } from '../connection/database.ts'

interface Owner {
  readonly id: number
  readonly until: number
  readonly lease_ms: number
  readonly beats: number
}

/**
 * Who has deliveries open. An owner is a broker of one process; it lives as long as its heart beats, and its open
 * deliveries are given back when it does not any more.
 *
 * Clocks may be set, and then every lease would look run out at once. So an owner is not dead before it was seen quiet
 * for half its lease, where no distance between two looks counts for more than it should have been. An owner that is
 * quiet for more than its whole lease is dead even if a clock that was set back says that it has time left.
 */
export class Owners {
  readonly #db: Database
  readonly #watched = new Map<number, { readonly beats: number; readonly quietMs: number }>()
  #lookedAt: number | undefined

  constructor(db: Database) {
    this.#db = db
  }

  register(leaseMs: number, now: number): number {
    return this.#db.get<Owner>`insert into owners(until, lease_ms, beats)
      values(${now + leaseMs}, ${leaseMs}, 0) returning *`!.id
  }

  /** Returns false if another process declared the owner dead. */
  beat(owner: number, now: number): boolean {
    return (
      this.#db.run`update owners set until = ${now} + lease_ms, beats = beats + 1 where id = ${owner}` === 1
    )
  }

  remove(owner: number): void {
    this.#db.run`delete from owners where id = ${owner}`
  }

  /** The dead ones, apart from our own. It is asked every `everyMs`. */
  findDead(own: ReadonlySet<number>, now: number, everyMs: number): readonly number[] {
    const sinceMs = Math.min(Math.max(0, now - (this.#lookedAt ?? now)), everyMs)
    this.#lookedAt = now
    const others = this.#db.all<Owner>`select * from owners`.filter(({ id }) => !own.has(id))
    for (const id of this.#watched.keys())
      if (!others.some(other => other.id === id)) this.#watched.delete(id)
    return others.filter(other => this.#isDead(other, sinceMs, now)).map(other => other.id)
  }

  #isDead({ id, until, lease_ms: leaseMs, beats }: Owner, sinceMs: number, now: number): boolean {
    const before = this.#watched.get(id)
    const quietMs = before?.beats === beats ? before.quietMs + sinceMs : 0
    this.#watched.set(id, { beats, quietMs })
    return quietMs > leaseMs || (until <= now && quietMs >= leaseMs / 2)
  }
}
