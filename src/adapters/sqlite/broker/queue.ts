import type { Database } from '../connection/database.ts'
import type { HandlerTable } from './handlers.ts'
import type { KeyOrder } from './key-order.ts'

/** The event is also in `events` for other handlers. */
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

/** The time of the next delivery, by the clock of the process that set it, and the length of the wait at that moment. */
export interface Wait {
  readonly due: number
  /** Null in a row of a version that did not keep it. */
  readonly delay: number | null
}

/** Moves deliveries through the tables; see schema. It calls `onReady` for deliveries that become ready. */
export class QueueTables {
  readonly #db: Database
  readonly #handlers: HandlerTable
  readonly #order: KeyOrder
  readonly #onReady: (handler: number) => void

  constructor(db: Database, handlers: HandlerTable, order: KeyOrder, onReady: (handler: number) => void) {
    this.#db = db
    this.#handlers = handlers
    this.#order = order
    this.#onReady = onReady
  }

  eventOf(seq: number): { readonly id: string | null; readonly key: string | null } {
    return this.#db.get<{
      id: string | null
      key: string | null
    }>`select id, key from events where seq = ${seq}`!
  }

  /** Takes an open delivery out; undefined when the owner does not have it. */
  take(owner: number, place: number): OpenRow | undefined {
    return this.#db.get`delete from open where place = ${place} and owner = ${owner} returning *`
  }

  /** New, or unblocked behind its key. */
  makeReady(handler: number, place: number, seq: number, flags: number): void {
    this.putBack({ handler, place, seq, started: 0, ended: 0, history: null, flags }, place)
  }

  /** Puts the event back with its counts, at the given position. */
  putBack({ handler, seq, started, ended, history, flags }: OpenRow, place: number): void {
    this.#db.run`insert into ready(handler, place, seq, started, ended, history, flags)
      values(${handler}, ${place}, ${seq}, ${started}, ${ended}, ${history}, ${flags})`
    this.#onReady(handler)
  }

  putAside({ handler, place, seq, started, ended, history, flags }: OpenRow, { due, delay }: Wait): void {
    this.#db.run`insert into waiting(handler, due, delay, place, seq, started, ended, history, flags)
      values(${handler}, ${due}, ${delay}, ${place}, ${seq}, ${started}, ${ended}, ${history}, ${flags})`
  }

  /** Done or dead. */
  drop({ handler, seq, flags }: OpenRow): void {
    this.#handlers.count(this.#handlers.byId(handler), -1)
    if ((flags & SHARED) === 0) this.#db.run`delete from events where seq = ${seq}`
    else {
      this.#db.run`update events set refs = refs - 1 where seq = ${seq}`
      this.#db.run`delete from events where seq = ${seq} and refs <= 0`
    }
  }

  /** The unresolved event of the key is resolved, so the next one continues. */
  goOn(handler: number, key: string): void {
    const next = this.#order.next(handler, key)
    if (next !== undefined) this.makeReady(handler, next.place, next.seq, next.flags)
  }

  /** Unblocks the key of a dead-lettered event. */
  unblockKey(handler: number, event: string): void {
    const dead = this.#order.dead(handler, event)
    if (dead === undefined) return
    this.#order.unblock(handler, event, dead)
    if (dead.key !== null) this.goOn(handler, dead.key)
  }
}
