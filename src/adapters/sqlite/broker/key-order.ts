import type { Database } from '../connection/database.ts'

interface DeadEvent {
  /** Null when no later event waits for it. */
  readonly key: string | null
  readonly letter: string
  /** 1 if only the broker keeps the letter. */
  readonly kept: number
}

interface HeldRow {
  readonly place: number
  readonly seq: number
  readonly flags: number
}

/**
 * Strict order per key. A key with an unresolved event has a row in `lanes`, and the later events of the key are held
 * behind it. An event that dies leaves its mark: as long as that names a key, the key waits for it.
 */
export class KeyOrder {
  readonly #db: Database
  #hasMarks: boolean | undefined

  constructor(db: Database) {
    this.#db = db
  }

  /** Returns whether the event may continue. Otherwise the event is held. */
  arrive(handler: number, key: string, { place, seq, flags }: HeldRow): boolean {
    const entered = this.#db
      .run`insert into lanes(handler, key) values(${handler}, ${key}) on conflict do nothing`
    if (entered === 1) return true
    this.#db.run`insert into held(handler, key, place, seq, flags)
      values(${handler}, ${key}, ${place}, ${seq}, ${flags})`
    return false
  }

  /** Returns the next event of the key, which may now continue. If there is none, the key is free. */
  next(handler: number, key: string): HeldRow | undefined {
    const first = this.#db.get<HeldRow>`select place, seq, flags from held
      where handler = ${handler} and key = ${key} order by place limit 1`
    if (first === undefined) this.#db.run`delete from lanes where handler = ${handler} and key = ${key}`
    else this.#db.run`delete from held where handler = ${handler} and key = ${key} and place = ${first.place}`
    return first
  }

  died(handler: number, event: string, { key, letter, kept }: DeadEvent): void {
    this.#db.run`insert into dead(handler, event, key, letter, kept)
      values(${handler}, ${event}, ${key}, ${letter}, ${kept})
      on conflict(handler, event) do update
      set key = excluded.key, letter = excluded.letter, kept = max(kept, excluded.kept)`
    this.#hasMarks = true
  }

  /** Asked for every event that is published, so it costs nothing as long as nothing died. */
  dead(handler: number, event: string): DeadEvent | undefined {
    this.#hasMarks ??= this.#db.get`select 1 from dead limit 1` !== undefined
    if (!this.#hasMarks) return undefined
    return this.#db.get`select key, letter, kept from dead where handler = ${handler} and event = ${event}`
  }

  /** The key no longer waits for the event. The record of a kept letter stays. */
  unblock(handler: number, event: string, { kept }: DeadEvent): void {
    if (kept === 1) this.#db.run`update dead set key = null where handler = ${handler} and event = ${event}`
    else this.forgetDead(handler, event)
  }

  forgetDead(handler: number, event: string): void {
    this.#db.run`delete from dead where handler = ${handler} and event = ${event}`
  }

  deadOfLetter(letter: string): { readonly handler: number; readonly event: string } | undefined {
    if (this.#hasMarks === false) return undefined
    return this.#db.get`select handler, event from dead where letter = ${letter}`
  }

  forget(): void {
    this.#hasMarks = undefined
  }
}
