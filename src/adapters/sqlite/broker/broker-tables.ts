import type { DatabaseSync } from 'node:sqlite'
import { EVENT_STRIDE, type EventRows, type OpenDelivery, type SubscribeAnswer } from '../connection/calls.ts'
import type { Counters } from '../connection/counters.ts'
import type { Part } from '../connection/part.ts'
import { all } from '../connection/rows.ts'
import { Desks } from './desks.ts'
import { type Handler, Roster } from './handlers.ts'
import { KeyOrder } from './key-order.ts'
import { HAS_LETTER, type OpenRow, Queue, SHARED } from './queue.ts'

/** The broker's side of the tables: publishing, subscribing, settling. */
export class BrokerTables implements Part {
  readonly desks: Desks
  readonly order: KeyOrder
  readonly #counters: Counters
  readonly #roster: Roster
  readonly #queue: Queue
  readonly #backlog
  readonly #unready
  readonly #openOf

  constructor(db: DatabaseSync, counters: Counters) {
    this.#counters = counters
    this.#roster = new Roster(db)
    this.order = new KeyOrder(db)
    this.#queue = new Queue(db, this.#roster, this.order, handler => this.desks.touch(handler))
    this.desks = new Desks(db, counters, this.#queue)
    this.#backlog = db.prepare(
      `select r.place, r.seq, r.flags, e.key from ready r join events e on e.seq = r.seq
       where r.handler = ? and e.key is not null order by r.place`,
    )
    this.#unready = db.prepare('delete from ready where handler = ? and place = ?')
    this.#openOf = db.prepare('delete from open where owner = ? returning *')
  }

  /** The channel that is full, if one is; what came before it is published. */
  publish(events: EventRows, capacity: number): string | undefined {
    for (let at = 0; at < events.length; at += EVENT_STRIDE) {
      const [channel, id, key, body, replay, target] = events.slice(at, at + EVENT_STRIDE)
      // A replay is for the handler that failed. For another one it would resolve an event that is dead there.
      const handlers =
        target === null ? this.#roster.ofChannel(channel!) : [this.#roster.named(channel!, target!)]
      if (handlers.some(handler => handler.depth >= capacity)) return channel!
      if (replay !== null && this.#queue.isOnItsWay(id!, replay!)) continue
      const seq = this.#counters.next('place')
      this.#queue.addEvent(seq, handlers.length, id!, key!, replay!, body!)
      for (const [index, handler] of handlers.entries()) {
        const place = index === 0 ? seq : this.#counters.next('place')
        this.#add(handler, place, seq, id!, key!, handlers.length > 1 ? SHARED : 0)
      }
    }
    return undefined
  }

  subscribe(
    owner: number,
    channel: string,
    name: string,
    isByKey: boolean,
    prefetch: number,
  ): SubscribeAnswer {
    const { handler, tookOver } = this.#roster.enter(channel, name, isByKey)
    if (handler.isByKey !== isByKey) return { orderedAs: handler.isByKey ? 'by-key' : 'none' }
    if (tookOver && isByKey) this.#putInOrder(handler)
    return { subscription: this.desks.open(owner, handler.id, prefetch) }
  }

  begin(owner: number, place: number, ended: number, history: string | null): boolean {
    return this.#queue.begin(owner, place, ended, history)
  }

  done(at: OpenDelivery): boolean {
    const row = this.#take(at)
    if (row === undefined) return false
    const handler = this.#roster.byId(row.handler)
    if (handler.isByKey || (row.flags & HAS_LETTER) !== 0) {
      const { id, key } = this.#queue.eventOf(row.seq)
      if ((row.flags & HAS_LETTER) !== 0 && id !== null) this.order.forgetDead(handler.id, id)
      if (handler.isByKey && key !== null) this.#queue.goOn(handler.id, key)
    }
    this.#queue.drop(row)
    return true
  }

  /** To come again: at once behind what is ready, or at its time. */
  putBack(
    at: OpenDelivery,
    delayMs: number,
    steadyNow: number,
    change: (row: OpenRow) => Partial<OpenRow>,
  ): boolean {
    const row = this.#take(at)
    if (row === undefined) return false
    const changed = { ...row, ...change(row) }
    if (delayMs <= 0) this.#queue.putBack(changed, this.#counters.next('place'))
    else {
      const wait = { due: steadyNow + delayMs, delay: delayMs }
      this.#queue.putAside(changed, wait)
      this.desks.setDue(row.handler, wait)
    }
    return true
  }

  isOpen([, owner, place]: OpenDelivery): boolean {
    return this.#queue.peek(owner, place) !== undefined
  }

  dead(at: OpenDelivery, letter: string, isKept: boolean): void {
    const row = this.#take(at)!
    const handler = this.#roster.byId(row.handler)
    const { id, key } = this.#queue.eventOf(row.seq)
    const blocks = handler.isByKey ? key : null
    if (id === null && blocks !== null) this.#queue.goOn(handler.id, blocks)
    else if (id !== null && (isKept || blocks !== null))
      this.order.died(handler.id, id, { key: blocks, letter, kept: Number(isKept) })
    this.#queue.drop(row)
  }

  /** As if it had not been handed over: it keeps its place, and so it is the first again. */
  giveBack(at: OpenDelivery): void {
    const row = this.#take(at)
    if (row !== undefined) this.#queue.putBack(row, row.place)
  }

  giveBackAllOf(owner: number): void {
    for (const row of all<OpenRow>(this.#openOf, owner)) this.#queue.putBack(row, row.place)
  }

  /** The id of the letter that is kept of a delivery's event. */
  letterOf({ seq, flags }: Pick<OpenRow, 'seq' | 'flags'>, handler: number): string | null {
    if ((flags & HAS_LETTER) === 0) return null
    const { id } = this.#queue.eventOf(seq)
    return (id === null ? undefined : this.order.dead(handler, id))?.letter ?? null
  }

  letGo(channel: string, event: string, handler: string | undefined): void {
    for (const { id, name } of this.#roster.known(channel))
      if (handler === undefined || handler === name) this.#queue.letGo(id, event)
  }

  /** The letter of a dead event was dealt with; `isGone` when it was deleted. */
  letGoOfLetter(letter: string, isGone: boolean): void {
    const dead = this.order.deadOfLetter(letter)
    if (dead === undefined) return
    this.#queue.letGo(dead.handler, dead.event)
    if (isGone) this.order.forgetDead(dead.handler, dead.event)
  }

  flush(): void {
    this.#roster.flush()
  }

  forget(): void {
    this.#roster.forget()
    this.order.forget()
  }

  #take([subscription, owner, place]: OpenDelivery): OpenRow | undefined {
    const row = this.#queue.take(owner, place)
    if (row !== undefined) this.desks.giveRoom(subscription)
    return row
  }

  #add(handler: Handler, place: number, seq: number, id: string, key: string | null, flags: number): void {
    this.#roster.count(handler, 1)
    const dead = this.order.dead(handler.id, id)
    const held = { place, seq, flags: dead?.kept === 1 ? flags | HAS_LETTER : flags }
    // A replay goes on from the place its event died in, before all that have waited since.
    const takesItsPlace = dead !== undefined && dead.key !== null && dead.key === key
    if (takesItsPlace) this.order.unblock(handler.id, id, dead)
    // An edited one may have another key: then its old one need not wait for it.
    else if (dead !== undefined) this.#queue.letGo(handler.id, id)
    if (takesItsPlace || key === null || !handler.isByKey || this.order.arrive(handler.id, key, held))
      this.#queue.makeReady(handler.id, place, seq, held.flags)
  }

  /** A backlog had no order. From now on only the first of each key is ready. */
  #putInOrder({ id }: Handler): void {
    const rows = all<OpenRow & { key: string }>(this.#backlog, id)
    for (const row of rows) if (!this.order.arrive(id, row.key, row)) this.#unready.run(id, row.place)
  }
}
