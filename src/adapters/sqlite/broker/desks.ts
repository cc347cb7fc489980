import type { DatabaseSync } from 'node:sqlite'
import type { Counters } from '../connection/counters.ts'
import { all } from '../connection/rows.ts'
import type { ClaimedRow, OpenRow, Queue, Wait } from './queue.ts'

/** Of one subscription at a time, so that several share the work. */
const CLAIMED_AT_ONCE = 32
const PROMOTED_AT_ONCE = 500

interface Desk {
  readonly handler: number
  readonly subscriptions: Subscribed[]
  /** False when a look found nothing more and nobody has added anything since. */
  mayHaveReady: boolean
  /** The first waiting delivery; undefined when it has to be looked up. */
  first: Wait | undefined
  turn: number
}

interface Subscribed {
  readonly id: number
  readonly desk: Desk
  readonly prefetch: number
  owner: number
  isOn: boolean
  /** Deliveries that may be handed over. */
  credit: number
}

/**
 * Hands ready deliveries to the subscriptions of this process. At the end of every transaction each of them gets as
 * many as it has room for, so that settling one brings the next without being asked.
 */
export class Desks {
  readonly #counters: Counters
  readonly #queue: Queue
  readonly #desks = new Map<number, Desk>()
  readonly #subscriptions = new Map<number, Subscribed>()
  readonly #ready
  readonly #open
  readonly #unready
  readonly #due
  readonly #undue
  readonly #nextDue
  readonly #bound
  #lastId = 0
  #credits: readonly (readonly [Subscribed, number])[] = []

  constructor(db: DatabaseSync, counters: Counters, queue: Queue) {
    this.#counters = counters
    this.#queue = queue
    this.#ready = db.prepare(
      `select r.place, r.seq, r.started, r.ended, r.history, r.flags, e.body
       from ready r join events e on e.seq = r.seq where r.handler = ? order by r.place limit ?`,
    )
    this.#open = db.prepare(
      `insert into open(place, owner, handler, seq, started, ended, history, flags)
       select place, ?, handler, seq, started, ended, history, flags from ready where handler = ? and place <= ?`,
    )
    this.#unready = db.prepare('delete from ready where handler = ? and place <= ?')
    this.#due = db.prepare('select * from waiting where handler = ? and due <= ? order by due, place limit ?')
    this.#undue = db.prepare('delete from waiting where handler = ? and due = ? and place = ?')
    this.#nextDue = db.prepare('select due, delay from waiting where handler = ? order by due limit 1')
    this.#bound = db.prepare(
      'update waiting set due = ?1 + delay where handler = ?2 and delay is not null and due > ?1 + delay',
    )
  }

  /** When the first retry is due that a subscription here waits for. */
  get dueAt(): number | undefined {
    let earliest = Number.POSITIVE_INFINITY
    for (const desk of this.#desks.values()) earliest = Math.min(earliest, this.#first(desk).due)
    return earliest === Number.POSITIVE_INFINITY ? undefined : earliest
  }

  open(owner: number, handler: number, prefetch: number): number {
    let desk = this.#desks.get(handler)
    if (desk === undefined) {
      desk = { handler, subscriptions: [], mayHaveReady: true, first: undefined, turn: 0 }
      this.#desks.set(handler, desk)
    }
    const id = ++this.#lastId
    const subscription = { id, desk, owner, prefetch, isOn: false, credit: prefetch }
    desk.subscriptions.push(subscription)
    this.#subscriptions.set(id, subscription)
    return id
  }

  close(id: number): void {
    const subscription = this.#subscriptions.get(id)
    if (subscription === undefined) return
    const { desk } = subscription
    desk.subscriptions.splice(desk.subscriptions.indexOf(subscription), 1)
    if (desk.subscriptions.length === 0) this.#desks.delete(desk.handler)
    this.#subscriptions.delete(id)
  }

  setFlow(id: number, isOn: boolean): void {
    const subscription = this.#subscriptions.get(id)
    if (subscription !== undefined) subscription.isOn = isOn
  }

  /** One of its deliveries is settled. Which of an owner's subscriptions had it, only the caller's side knows. */
  giveRoom(id: number): void {
    const subscription = this.#subscriptions.get(id)
    if (subscription !== undefined) subscription.credit++
  }

  /** What the old owner had open is lost, and so there is room for as much again. */
  changeOwner(from: number, to: number): void {
    for (const subscription of this.#subscriptions.values()) {
      if (subscription.owner !== from) continue
      subscription.owner = to
      subscription.credit = subscription.prefetch
    }
  }

  touch(handler: number): void {
    const desk = this.#desks.get(handler)
    if (desk !== undefined) desk.mayHaveReady = true
  }

  setDue(handler: number, wait: Wait): void {
    const desk = this.#desks.get(handler)
    if (desk?.first !== undefined && wait.due < desk.first.due) desk.first = wait
  }

  /** Others may have added anything. */
  lookAgain(): void {
    for (const desk of this.#desks.values()) {
      desk.mayHaveReady = true
      desk.first = undefined
    }
  }

  hasWork(now: number): boolean {
    for (const desk of this.#desks.values()) {
      const first = this.#first(desk)
      if (first.due <= now || isTooFar(first, now)) return true
      if (desk.mayHaveReady && desk.subscriptions.some(hasRoom)) return true
    }
    return false
  }

  /** What a transaction does to credits is undone with it. */
  remember(): void {
    this.#credits = Array.from(this.#subscriptions.values(), each => [each, each.credit] as const)
  }

  restore(): void {
    for (const [subscription, credit] of this.#credits) subscription.credit = credit
    this.lookAgain()
  }

  /** Hands over what is ready, as `give` is told. */
  serve(now: number, give: (subscription: Subscribed, row: ClaimedRow) => void): void {
    for (const desk of this.#desks.values()) {
      if (isTooFar(this.#first(desk), now)) this.#boundWaits(desk, now)
      if (this.#first(desk).due <= now) this.#promote(desk, now)
      for (let tried = 0; desk.mayHaveReady && tried < desk.subscriptions.length; tried++) {
        const subscription = desk.subscriptions[desk.turn++ % desk.subscriptions.length]!
        if (!hasRoom(subscription)) continue
        tried = -1
        this.#claim(subscription, give)
      }
    }
  }

  #claim(subscription: Subscribed, give: (subscription: Subscribed, row: ClaimedRow) => void): void {
    const { desk, owner } = subscription
    const wanted = Math.min(subscription.credit, CLAIMED_AT_ONCE)
    const rows = all<ClaimedRow>(this.#ready, desk.handler, wanted)
    if (rows.length < wanted) desk.mayHaveReady = false
    const last = rows.at(-1)
    if (last === undefined) return
    this.#open.run(owner, desk.handler, last.place)
    this.#unready.run(desk.handler, last.place)
    subscription.credit -= rows.length
    for (const row of rows) give(subscription, row)
  }

  /** Their time has come: they queue up behind what is ready now, so that one that fails at once starves nobody. */
  #promote(desk: Desk, now: number): void {
    const rows = all<OpenRow & { due: number }>(this.#due, desk.handler, now, PROMOTED_AT_ONCE)
    for (const row of rows) {
      this.#undue.run(desk.handler, row.due, row.place)
      this.#queue.putBack(row, this.#counters.next('place'))
    }
    desk.first = undefined
  }

  /** Put aside before the clock was set back, or by a process that began before that: each waits as long as it was to. */
  #boundWaits(desk: Desk, now: number): void {
    this.#bound.run(now, desk.handler)
    desk.first = undefined
  }

  #first(desk: Desk): Wait {
    desk.first ??= (this.#nextDue.get(desk.handler) as Wait | undefined) ?? NOTHING_WAITS
    return desk.first
  }
}

const NOTHING_WAITS: Wait = { due: Number.POSITIVE_INFINITY, delay: null }

function isTooFar({ due, delay }: Wait, now: number): boolean {
  return delay !== null && due > now + delay
}

function hasRoom({ isOn, credit }: Subscribed): boolean {
  return isOn && credit > 0
}
