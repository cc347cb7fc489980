import type { DatabaseSync } from 'node:sqlite'
import type { Part } from '../connection/part.ts'

interface DeadEvent {
  /** Null when no later event waits for it. */
  readonly key: string | null
  readonly letter: string
  /** 1 when its letter is kept by the broker and nobody else. */
  readonly kept: number
}

interface Held {
  readonly place: number
  readonly seq: number
  readonly flags: number
}

/**
 * Strict order per key. A key with an unresolved event has a lane, and the later events of the key are held behind it.
 * An event that dies leaves its mark: as long as that names a key, the lane waits for it.
 */
export class KeyOrder implements Part {
  readonly #enter
  readonly #leave
  readonly #hold
  readonly #first
  readonly #unhold
  readonly #mark
  readonly #marked
  readonly #unmark
  readonly #unblock
  readonly #ofLetter
  readonly #anyMark
  #hasMarks: boolean | undefined

  constructor(db: DatabaseSync) {
    this.#enter = db.prepare('insert into lanes(handler, key) values(?, ?) on conflict do nothing')
    this.#leave = db.prepare('delete from lanes where handler = ? and key = ?')
    this.#hold = db.prepare('insert into held(handler, key, place, seq, flags) values(?, ?, ?, ?, ?)')
    this.#first = db.prepare(
      'select place, seq, flags from held where handler = ? and key = ? order by place limit 1',
    )
    this.#unhold = db.prepare('delete from held where handler = ? and key = ? and place = ?')
    this.#mark = db.prepare(
      `insert into dead(handler, event, key, letter, kept) values(?, ?, ?, ?, ?)
       on conflict(handler, event) do update set key = excluded.key, letter = excluded.letter,
       kept = max(kept, excluded.kept)`,
    )
    this.#marked = db.prepare('select key, letter, kept from dead where handler = ? and event = ?')
    this.#unmark = db.prepare('delete from dead where handler = ? and event = ?')
    this.#unblock = db.prepare('update dead set key = null where handler = ? and event = ?')
    this.#ofLetter = db.prepare('select handler, event from dead where letter = ?')
    this.#anyMark = db.prepare('select exists(select 1 from dead) as found')
  }

  /** Whether the event may go on; if not, it is held. */
  arrive(handler: number, key: string, event: Held): boolean {
    if (this.#enter.run(handler, key).changes === 1) return true
    this.#hold.run(handler, key, event.place, event.seq, event.flags)
    return false
  }

  /** The next event of the key, which may go on now. Without one the lane is given up. */
  next(handler: number, key: string): Held | undefined {
    const first = this.#first.get(handler, key) as Held | undefined
    if (first === undefined) this.#leave.run(handler, key)
    else this.#unhold.run(handler, key, first.place)
    return first
  }

  died(handler: number, event: string, { key, letter, kept }: DeadEvent): void {
    this.#mark.run(handler, event, key, letter, kept)
    this.#hasMarks = true
  }

  /** Asked for every event that is published, so it costs nothing as long as nothing died. */
  dead(handler: number, event: string): DeadEvent | undefined {
    this.#hasMarks ??= (this.#anyMark.get() as { found: number }).found === 1
    return this.#hasMarks ? (this.#marked.get(handler, event) as DeadEvent | undefined) : undefined
  }

  /** Its lane need not wait for it any more. That a letter of it is kept stays known. */
  unblock(handler: number, event: string, { kept }: DeadEvent): void {
    if (kept === 1) this.#unblock.run(handler, event)
    else this.#unmark.run(handler, event)
  }

  forgetDead(handler: number, event: string): void {
    this.#unmark.run(handler, event)
  }

  deadOfLetter(letter: string): { readonly handler: number; readonly event: string } | undefined {
    if (this.#hasMarks === false) return undefined
    return this.#ofLetter.get(letter) as { handler: number; event: string } | undefined
  }

  flush(): void {}

  forget(): void {
    this.#hasMarks = undefined
  }
}
