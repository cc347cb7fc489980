import type { Counters } from '../connection/counters.ts'
import type { Database } from '../connection/database.ts'
import type { OpenRow, QueueTables, Wait } from './queue.ts'

/** The number of deliveries for one subscription in one round, so that several subscriptions share the work. */
const CLAIMED_AT_ONCE = 32
const PROMOTED_AT_ONCE = 500

/** A handler that this process subscribes to. */
interface LocalHandler {
  readonly id: number
  readonly subscriptions: LocalSubscription[]
  /** False if the last query found nothing and nobody has added an event since. */
  mayHaveReady: boolean
  /** The first waiting delivery; undefined if it must be looked up. */
  first: Wait | undefined
  turn: number
}

interface LocalSubscription {
  readonly id: number
  readonly handler: LocalHandler
  readonly prefetch: number
  owner: number
  isOn: boolean
  /** The number of deliveries that the subscription can take. */
  credit: number
}

interface ClaimedRow extends Omit<OpenRow, 'handler'> {
  readonly body: string | Uint8Array
}

type GiveDelivery = (subscription: LocalSubscription, row: ClaimedRow) => void

/**
 * Gives ready deliveries to the subscriptions of this process. At the end of every transaction each subscription gets as
 * many as it has room for. So the settlement of a delivery returns the next one without a request.
 */
export class LocalSubscriptions {
  readonly #db: Database
  readonly #counters: Counters
  readonly #queue: QueueTables
  readonly #handlers = new Map<number, LocalHandler>()
  readonly #byId = new Map<number, LocalSubscription>()
  #lastId = 0
  #credits: readonly (readonly [LocalSubscription, number])[] = []

  constructor(db: Database, counters: Counters, queue: QueueTables) {
    this.#db = db
    this.#counters = counters
    this.#queue = queue
  }

  /** The time at which the first retry is due for a subscription of this process. */
  get dueAt(): number | undefined {
    let earliest = Number.POSITIVE_INFINITY
    for (const handler of this.#handlers.values()) earliest = Math.min(earliest, this.#first(handler).due)
    return earliest === Number.POSITIVE_INFINITY ? undefined : earliest
  }

  open(owner: number, handlerId: number, prefetch: number): number {
    let handler = this.#handlers.get(handlerId)
    if (handler === undefined) {
      handler = { id: handlerId, subscriptions: [], mayHaveReady: true, first: undefined, turn: 0 }
      this.#handlers.set(handlerId, handler)
    }
    const id = ++this.#lastId
    const subscription = { id, handler, owner, prefetch, isOn: false, credit: prefetch }
    handler.subscriptions.push(subscription)
    this.#byId.set(id, subscription)
    return id
  }

  close(id: number): void {
    const subscription = this.#byId.get(id)
    if (subscription === undefined) return
    const { handler } = subscription
    handler.subscriptions.splice(handler.subscriptions.indexOf(subscription), 1)
    if (handler.subscriptions.length === 0) this.#handlers.delete(handler.id)
    this.#byId.delete(id)
  }

  setFlow(id: number, isOn: boolean): void {
    const subscription = this.#byId.get(id)
    if (subscription !== undefined) subscription.isOn = isOn
  }

  /** One delivery of this subscription is settled. Only the caller's side knows which subscription had it. */
  giveRoom(id: number): void {
    const subscription = this.#byId.get(id)
    if (subscription !== undefined) subscription.credit++
  }

  /** The open deliveries of the old owner are lost, so the subscriptions have room for as many again. */
  changeOwner(from: number, to: number): void {
    for (const subscription of this.#byId.values()) {
      if (subscription.owner !== from) continue
      subscription.owner = to
      subscription.credit = subscription.prefetch
    }
  }

  setReady(handlerId: number): void {
    const handler = this.#handlers.get(handlerId)
    if (handler !== undefined) handler.mayHaveReady = true
  }

  setDue(handlerId: number, wait: Wait): void {
    const handler = this.#handlers.get(handlerId)
    if (handler?.first !== undefined && wait.due < handler.first.due) handler.first = wait
  }

  /** Other processes may have added events. */
  checkAgain(): void {
    for (const handler of this.#handlers.values()) {
      handler.mayHaveReady = true
      handler.first = undefined
    }
  }

  hasWork(now: number): boolean {
    for (const handler of this.#handlers.values()) {
      const first = this.#first(handler)
      if (first.due <= now || isTooFar(first, now)) return true
      if (handler.mayHaveReady && handler.subscriptions.some(hasRoom)) return true
    }
    return false
  }

  /** A rollback restores the credits. */
  remember(): void {
    this.#credits = Array.from(this.#byId.values(), each => [each, each.credit] as const)
  }

  restore(): void {
    for (const [subscription, credit] of this.#credits) subscription.credit = credit
    this.checkAgain()
  }

  /** Passes ready deliveries to `give`. */
  serve(now: number, give: GiveDelivery): void {
    for (const handler of this.#handlers.values()) {
      if (isTooFar(this.#first(handler), now)) this.#boundWaits(handler, now)
      if (this.#first(handler).due <= now) this.#promote(handler, now)
      for (let tried = 0; handler.mayHaveReady && tried < handler.subscriptions.length; tried++) {
        const subscription = handler.subscriptions[handler.turn++ % handler.subscriptions.length]!
        if (!hasRoom(subscription)) continue
        tried = -1
        this.#claim(subscription, give)
      }
    }
  }

  #claim(subscription: LocalSubscription, give: GiveDelivery): void {
    const { handler, owner } = subscription
    const wanted = Math.min(subscription.credit, CLAIMED_AT_ONCE)
    const rows = this.#db.all<ClaimedRow>`
      select r.place, r.seq, r.started, r.ended, r.history, r.flags, e.body
      from ready r join events e on e.seq = r.seq where r.handler = ${handler.id} order by r.place limit ${wanted}`
    if (rows.length < wanted) handler.mayHaveReady = false
    const last = rows.at(-1)
    if (last === undefined) return
    this.#db.run`insert into open(place, owner, handler, seq, started, ended, history, flags)
      select place, ${owner}, handler, seq, started, ended, history, flags
      from ready where handler = ${handler.id} and place <= ${last.place}`
    this.#db.run`delete from ready where handler = ${handler.id} and place <= ${last.place}`
    subscription.credit -= rows.length
    for (const row of rows) give(subscription, row)
  }

  /**
   * Deliveries whose time has come queue behind the ready ones, so that an event that fails at once does not block
   * others.
   */
  #promote(handler: LocalHandler, now: number): void {
    const rows = this.#db.all<OpenRow & Wait>`select * from waiting
      where handler = ${handler.id} and due <= ${now} order by due, place limit ${PROMOTED_AT_ONCE}`
    for (const row of rows) {
      this.#db
        .run`delete from waiting where handler = ${handler.id} and due = ${row.due} and place = ${row.place}`
      this.#queue.putBack(row, this.#counters.next('place'))
    }
    handler.first = undefined
  }

  /** Put aside before the clock was set back, or by a process that began before that: each waits as long as it was to. */
  #boundWaits(handler: LocalHandler, now: number): void {
    this.#db.run`update waiting set due = ${now} + delay
      where handler = ${handler.id} and delay is not null and due > ${now} + delay`
    handler.first = undefined
  }

  #first(handler: LocalHandler): Wait {
    handler.first ??=
      this.#db.get<Wait>`select due, delay from waiting where handler = ${handler.id} order by due limit 1` ??
      NO_WAIT
    return handler.first
  }
}

const NO_WAIT: Wait = { due: Number.POSITIVE_INFINITY, delay: null }

function isTooFar({ due, delay }: Wait, now: number): boolean {
  return delay !== null && due > now + delay
}

function hasRoom({ isOn, credit }: LocalSubscription): boolean {
  return isOn && credit > 0
}
