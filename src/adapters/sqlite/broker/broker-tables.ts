import type { Counters } from '../connection/counters.ts'
import type { Database } from '../connection/database.ts'
import type { Cached, WriterContext } from '../connection/writer-context.ts'
import type { LetterRow, LetterTable, SendAnswer } from '../letters/letter-table.ts'
import { type Handler, HandlerTable } from './handlers.ts'
import { KeyOrder } from './key-order.ts'
import { LocalSubscriptions } from './local-subscriptions.ts'
import { Owners } from './owners.ts'
import { HAS_LETTER, type OpenRow, QueueTables, SHARED } from './queue.ts'

/** Six to an event: channel, id, key or null, body, and of a replay: which sending it is, or null, and whom it is for, or null. */
export type EventRows = readonly (string | null)[]
const EVENT_STRIDE = 6

/** The subscription, the owner and the position of an open delivery. */
export type OpenDelivery = readonly [subscription: number, owner: number, place: number]

type SubscribeAnswer = { readonly subscription: number } | { readonly orderedAs: 'none' | 'by-key' }

/**
 * The part of the tables that the broker uses: publishing, subscribing, settling. A settlement makes room for the next
 * delivery. It returns false if the owner no longer holds the delivery.
 */
export class BrokerTables implements Cached {
  readonly subscriptions: LocalSubscriptions
  readonly #db: Database
  readonly #context: WriterContext
  readonly #counters: Counters
  readonly #letters: LetterTable
  readonly #handlers: HandlerTable
  readonly #order: KeyOrder
  readonly #queue: QueueTables
  readonly #owners: Owners
  /** Owners of this process, and the length of their leases. */
  readonly #leases = new Map<number, number>()

  constructor(db: Database, context: WriterContext, counters: Counters, letters: LetterTable) {
    this.#db = db
    this.#context = context
    this.#counters = counters
    this.#letters = letters
    this.#handlers = new HandlerTable(db)
    this.#order = new KeyOrder(db)
    this.#owners = new Owners(db)
    this.#queue = new QueueTables(db, this.#handlers, this.#order, id => this.subscriptions.setReady(id))
    this.subscriptions = new LocalSubscriptions(db, counters, this.#queue)
  }

  /** The channel that is full, if one is; what came before it is published. */
  publish(events: EventRows, capacity: number): string | undefined {
    for (let at = 0; at < events.length; at += EVENT_STRIDE) {
      const [channel, id, key, body, replay, target] = events.slice(at, at + EVENT_STRIDE)
      // A replay is for the handler that failed. For another one it would resolve an event that is dead there.
      const handlers =
        target === null ? this.#handlers.ofChannel(channel!) : [this.#handlers.named(channel!, target!)]
      if (handlers.some(handler => handler.depth >= capacity)) return channel!
      if (replay !== null && this.#isOnItsWay(id!, replay!)) continue
      const seq = this.#counters.next('place')
      this.#db.run`insert into events(seq, refs, id, key, replay, body)
        values(${seq}, ${handlers.length}, ${id!}, ${key!}, ${replay!}, ${body!})`
      for (const [index, handler] of handlers.entries()) {
        const place = index === 0 ? seq : this.#counters.next('place')
        this.#add(handler, place, seq, id!, key!, handlers.length > 1 ? SHARED : 0)
      }
    }
    return undefined
  }

  register(leaseMs: number): number {
    const owner = this.#owners.register(leaseMs, this.#context.now)
    this.#leases.set(owner, leaseMs)
    return owner
  }

  /**
   * The owner's number from now on: another one when its lease was lost. Undefined when this thread does not know the
   * owner.
   */
  beat(owner: number): number | undefined {
    const { now } = this.#context
    const leaseMs = this.#leases.get(owner)
    if (leaseMs === undefined) return undefined
    let current = owner
    if (!this.#owners.beat(owner, now)) {
      current = this.register(leaseMs)
      this.subscriptions.changeOwner(owner, current)
      this.#leases.delete(owner)
    }
    for (const dead of this.#owners.findDead(new Set(this.#leases.keys()), now, leaseMs / 3))
      this.resign(dead)
    return current
  }

  resign(owner: number): void {
    for (const row of this.#db.all<OpenRow>`delete from open where owner = ${owner} returning *`)
      this.#queue.putBack(row, row.place)
    this.#owners.remove(owner)
    this.#leases.delete(owner)
  }

  subscribe(
    owner: number,
    channel: string,
    name: string,
    isByKey: boolean,
    prefetch: number,
  ): SubscribeAnswer {
    const { handler, tookOver } = this.#handlers.enter(channel, name, isByKey)
    if (handler.isByKey !== isByKey) return { orderedAs: handler.isByKey ? 'by-key' : 'none' }
    if (tookOver && isByKey) this.#putInOrder(handler)
    return { subscription: this.subscriptions.open(owner, handler.id, prefetch) }
  }

  /** Whether another process has written since the last time. */
  poll(): boolean {
    const { othersWrote } = this.#context
    this.#context.othersWrote = false
    return othersWrote
  }

  begin([, owner, place]: OpenDelivery, ended: number, history: string | null): boolean {
    const begun = this.#db.run`update open
      set started = started + 1, ended = ended + ${ended}, history = coalesce(${history}, history)
      where place = ${place} and owner = ${owner}`
    return begun === 1
  }

  done(at: OpenDelivery): boolean {
    const row = this.#take(at)
    if (row === undefined) return false
    const handler = this.#handlers.byId(row.handler)
    if (handler.isByKey || (row.flags & HAS_LETTER) !== 0) {
      const { id, key } = this.#queue.eventOf(row.seq)
      if ((row.flags & HAS_LETTER) !== 0 && id !== null) this.#order.forgetDead(handler.id, id)
      if (handler.isByKey && key !== null) this.#queue.goOn(handler.id, key)
    }
    this.#queue.drop(row)
    return true
  }

  retry(at: OpenDelivery, notBefore: number, ended: number, history: string | null): boolean {
    return this.#putBack(at, notBefore, row => ({
      ended: row.ended + ended,
      history: history ?? row.history,
    }))
  }

  release(at: OpenDelivery, notBefore: number, takenBack: number): boolean {
    return this.#putBack(at, notBefore, row => ({ started: row.started - takenBack }))
  }

  /** With a row, this database keeps the letter. The result says whether and how the letter must be sent again. */
  dead(
    at: OpenDelivery,
    letterId: string,
    letter: LetterRow | null,
    revision: number | null,
  ): boolean | Exclude<SendAnswer, undefined> {
    const [, owner, place] = at
    if (this.#db.get`select 1 from open where place = ${place} and owner = ${owner}` === undefined)
      return false
    // Letters are never refused for want of room: publishing stops first.
    const answer = letter && this.#letters.send(letter, revision, Number.MAX_SAFE_INTEGER)
    if (answer !== null && answer !== undefined) return answer
    const row = this.#take(at)!
    const handler = this.#handlers.byId(row.handler)
    const { id, key } = this.#queue.eventOf(row.seq)
    const blocks = handler.isByKey ? key : null
    if (id === null && blocks !== null) this.#queue.goOn(handler.id, blocks)
    else if (id !== null && (letter !== null || blocks !== null))
      this.#order.died(handler.id, id, { key: blocks, letter: letterId, kept: Number(letter !== null) })
    this.#queue.drop(row)
    return true
  }

  /** Puts deliveries back to their positions, as if they had not been delivered. So they are the first again. */
  giveBack(deliveries: readonly OpenDelivery[]): void {
    for (const at of deliveries) {
      const row = this.#take(at)
      if (row !== undefined) this.#queue.putBack(row, row.place)
    }
  }

  /** The id of the letter that is kept of a delivery's event. */
  letterOf({ seq, flags }: Pick<OpenRow, 'seq' | 'flags'>, handler: number): string | null {
    if ((flags & HAS_LETTER) === 0) return null
    const { id } = this.#queue.eventOf(seq)
    return (id === null ? undefined : this.#order.dead(handler, id))?.letter ?? null
  }

  unblockKey(channel: string, event: string, handler: string | undefined): void {
    for (const { id, name } of this.#handlers.known(channel))
      if (handler === undefined || handler === name) this.#queue.unblockKey(id, event)
  }

  /** A letter was decided on; `isGone` when it was deleted. */
  letterClosed(letter: string, isGone: boolean): void {
    const dead = this.#order.deadOfLetter(letter)
    if (dead === undefined) return
    this.#queue.unblockKey(dead.handler, dead.event)
    if (isGone) this.#order.forgetDead(dead.handler, dead.event)
  }

  flush(): void {
    this.#handlers.flush()
  }

  forget(): void {
    this.#handlers.forget()
    this.#order.forget()
  }

  /** Whether the replay is still in progress. Such a replay is not sent a second time. */
  #isOnItsWay(event: string, replay: string): boolean {
    return this.#db.get`select 1 from events where id = ${event} and replay = ${replay} limit 1` !== undefined
  }

  #take([subscription, owner, place]: OpenDelivery): OpenRow | undefined {
    const row = this.#queue.take(owner, place)
    if (row !== undefined) this.subscriptions.giveRoom(subscription)
    return row
  }

  /** Puts the event back, at once behind the ready events, or at its time. */
  #putBack(at: OpenDelivery, notBefore: number, change: (row: OpenRow) => Partial<OpenRow>): boolean {
    const row = this.#take(at)
    if (row === undefined) return false
    const { now, steadyNow } = this.#context
    const delay = notBefore - now
    const changed = { ...row, ...change(row) }
    if (delay <= 0) this.#queue.putBack(changed, this.#counters.next('place'))
    else {
      const wait = { due: steadyNow + delay, delay }
      this.#queue.putAside(changed, wait)
      this.subscriptions.setDue(row.handler, wait)
    }
    return true
  }

  #add(handler: Handler, place: number, seq: number, id: string, key: string | null, flags: number): void {
    this.#handlers.count(handler, 1)
    const dead = this.#order.dead(handler.id, id)
    const held = { place, seq, flags: dead?.kept === 1 ? flags | HAS_LETTER : flags }
    // A replay takes the position of its dead-lettered event, before all events that wait since.
    const takesItsPlace = dead !== undefined && dead.key !== null && dead.key === key
    if (takesItsPlace) this.#order.unblock(handler.id, id, dead)
    // An edited one may have another key: then its old one need not wait for it.
    else if (dead !== undefined) this.#queue.unblockKey(handler.id, id)
    if (takesItsPlace || key === null || !handler.isByKey || this.#order.arrive(handler.id, key, held))
      this.#queue.makeReady(handler.id, place, seq, held.flags)
  }

  /** A backlog had no order. From now on only the first of each key is ready. */
  #putInOrder({ id }: Handler): void {
    const rows = this.#db.all<OpenRow & { key: string }>`
      select r.place, r.seq, r.flags, e.key from ready r join events e on e.seq = r.seq
      where r.handler = ${id} and e.key is not null order by r.place`
    for (const row of rows)
      if (!this.#order.arrive(id, row.key, row))
        this.#db.run`delete from ready where handler = ${id} and place = ${row.place}`
  }
}

/** The number of events that a handler has not finished, for the reading thread. */
export function brokerReader(db: Database) {
  return {
    depth(channel: string, handler: string): number {
      const [own, backlog] = [handler, null].map(
        name =>
          db.get<{ depth: number | null }>`select sum(depth) as depth from handlers
          where channel = ${channel} and name is ${name}`?.depth,
      )
      return own ?? backlog ?? 0
    },
  }
}
