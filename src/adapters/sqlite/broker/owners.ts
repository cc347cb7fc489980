import type { DatabaseSync } from 'node:sqlite'
import { all } from '../connection/rows.ts'

interface Owner {
  readonly id: number
  readonly until: number
  readonly lease_ms: number
  readonly beats: number
}

/**
 * Who has deliveries open. An owner is a broker of one process; it lives as long as its heart beats, and what it had
 * open is given back when it does not any more.
 *
 * Clocks may be set, and then every lease would look run out at once. So nobody is taken for dead before he was seen
 * quiet for half his lease, where no distance between two looks counts for more than it should have been; and one that is quiet for more than all of it is dead
 * even if a clock that was set back says that he has time left.
 */
export class Owners {
  readonly #insert
  readonly #beat
  readonly #delete
  readonly #every
  readonly #watched = new Map<number, { readonly beats: number; readonly quietMs: number }>()
  #lookedAt: number | undefined

  constructor(db: DatabaseSync) {
    this.#insert = db.prepare('insert into owners(until, lease_ms, beats) values(?, ?, 0)')
    this.#beat = db.prepare('update owners set until = ? + lease_ms, beats = beats + 1 where id = ?')
    this.#delete = db.prepare('delete from owners where id = ?')
    this.#every = db.prepare('select * from owners')
  }

  register(leaseMs: number, now: number): number {
    return Number(this.#insert.run(now + leaseMs, leaseMs).lastInsertRowid)
  }

  /** False when others took it for dead. */
  beat(owner: number, now: number): boolean {
    return this.#beat.run(now, owner).changes === 1
  }

  remove(owner: number): void {
    this.#delete.run(owner)
  }

  /** Those that are dead, apart from our own. It is asked every `everyMs`. */
  findDead(own: ReadonlySet<number>, now: number, everyMs: number): readonly number[] {
    const sinceMs = Math.min(Math.max(0, now - (this.#lookedAt ?? now)), everyMs)
    this.#lookedAt = now
    const others = all<Owner>(this.#every).filter(({ id }) => !own.has(id))
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
