import type { DatabaseSync } from 'node:sqlite'
import type { Roster } from './handlers.ts'
import type { KeyOrder } from './key-order.ts'

/** Its event lies in `events` for other handlers as well. */
export const SHARED = 1
/** A letter of its event is kept by the broker, and is resolved when the event is handled after all. */
export const HAS_LETTER = 2

export interface OpenRow {
  readonly place: number
  readonly handler: number
  readonly seq: number
  readonly started: number
  readonly ended: number
  readonly history: string | null
  readonly flags: number
}

export interface ClaimedRow extends Omit<OpenRow, 'handler'> {
  readonly body: string | Uint8Array
}

/** When a delivery comes again, by the clock of the process that put it aside, and how long it was to wait then. */
export interface Wait {
  readonly due: number
  /** Null in a row of a version that did not keep it. */
  readonly delay: number | null
}

/** The way of deliveries through the tables; see schema. Whatever becomes ready is told to `onReady`. */
export class Queue {
  readonly #roster: Roster
  readonly #order: KeyOrder
  readonly #onReady: (handler: number) => void
  readonly #insertEvent
  readonly #event
  readonly #dropEvent
  readonly #unshareEvent
  readonly #dropUnshared
  readonly #replayed
  readonly #insertReady
  readonly #insertWaiting
  readonly #take
  readonly #peek
  readonly #begin

  constructor(db: DatabaseSync, roster: Roster, order: KeyOrder, onReady: (handler: number) => void) {
    this.#roster = roster
    this.#order = order
    this.#onReady = onReady
    this.#insertEvent = db.prepare(
      'insert into events(seq, refs, id, key, replay, body) values(?, ?, ?, ?, ?, ?)',
    )
    this.#event = db.prepare('select id, key from events where seq = ?')
    this.#dropEvent = db.prepare('delete from events where seq = ?')
    this.#unshareEvent = db.prepare('update events set refs = refs - 1 where seq = ?')
    this.#dropUnshared = db.prepare('delete from events where seq = ? and refs <= 0')
    this.#replayed = db.prepare('select 1 from events where id = ? and replay = ? limit 1')
    this.#insertReady = db.prepare(
      'insert into ready(handler, place, seq, started, ended, history, flags) values(?, ?, ?, ?, ?, ?, ?)',
    )
    this.#insertWaiting = db.prepare(
      `insert into waiting(handler, due, delay, place, seq, started, ended, history, flags)
       values(?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    this.#take = db.prepare('delete from open where place = ? and owner = ? returning *')
    this.#peek = db.prepare('select * from open where place = ? and owner = ?')
    this.#begin = db.prepare(
      `update open set started = started + 1, ended = ended + ?, history = coalesce(?, history)
       where place = ? and owner = ?`,
    )
  }

  /** A replay that is still on its way is not sent a second time. */
  isOnItsWay(event: string, replay: string): boolean {
    return this.#replayed.get(event, replay) !== undefined
  }

  addEvent(
    seq: number,
    refs: number,
    id: string,
    key: string | null,
    replay: string | null,
    body: string,
  ): void {
    this.#insertEvent.run(seq, refs, id, key, replay, body)
  }

  eventOf(seq: number): { readonly id: string | null; readonly key: string | null } {
    return this.#event.get(seq) as { id: string | null; key: string | null }
  }

  begin(owner: number, place: number, ended: number, history: string | null): boolean {
    return this.#begin.run(ended, history, place, owner).changes === 1
  }

  /** Takes an open delivery out; undefined when the owner does not have it. */
  take(owner: number, place: number): OpenRow | undefined {
    return this.#take.get(place, owner) as OpenRow | undefined
  }

  peek(owner: number, place: number): OpenRow | undefined {
    return this.#peek.get(place, owner) as OpenRow | undefined
  }

  /** New, or let go on behind its key. */
  makeReady(handler: number, place: number, seq: number, flags: number): void {
    this.#insertReady.run(handler, place, seq, 0, 0, null, flags)
    this.#onReady(handler)
  }

  /** With its counts; the place says before and behind whom. */
  putBack({ handler, seq, started, ended, history, flags }: OpenRow, place: number): void {
    this.#insertReady.run(handler, place, seq, started, ended, history, flags)
    this.#onReady(handler)
  }

  putAside({ handler, place, seq, started, ended, history, flags }: OpenRow, { due, delay }: Wait): void {
    this.#insertWaiting.run(handler, due, delay, place, seq, started, ended, history, flags)
  }

  /** Done or dead. */
  drop({ handler, seq, flags }: OpenRow): void {
    this.#roster.count(this.#roster.byId(handler), -1)
    if ((flags & SHARED) === 0) this.#dropEvent.run(seq)
    else {
      this.#unshareEvent.run(seq)
      this.#dropUnshared.run(seq)
    }
  }

  /** The key's unresolved event is resolved. */
  goOn(handler: number, key: string): void {
    const next = this.#order.next(handler, key)
    if (next !== undefined) this.makeReady(handler, next.place, next.seq, next.flags)
  }

  /** A dead event's key need not wait for it any more. */
  letGo(handler: number, event: string): void {
    const dead = this.#order.dead(handler, event)
    if (dead === undefined) return
    this.#order.unblock(handler, event, dead)
    if (dead.key !== null) this.goOn(handler, dead.key)
  }
}
