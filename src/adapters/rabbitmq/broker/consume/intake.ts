import type { Delivery } from '../../../../ports/broker.ts'
import { nextTurn, rest, within } from '../../../../ports/clock.ts'
import type { AmqpMessage } from '../../connection/amqp.ts'
import { CLOSE_MS } from '../../connection/waiting.ts'
import type { RabbitmqSettings } from '../../options.ts'
import { IN_PROCESS_REST_MS } from '../topology/steps.ts'
import { addCrash, type Past, readWaitMs } from '../wire/state.ts'
import { type Place, RabbitmqDelivery } from './delivery.ts'
import { Isolation } from './isolation.ts'
import type { LostDeliveries } from './lost.ts'
import type { Session } from './session.ts'
import type { Settler } from './settler.ts'
import type { Tap } from './tap.ts'

/** A quorum queue puts back what was acknowledged right before its channel closed: it needs this long to note it. */
const DRAIN_MS = 300

/**
 * Between the server and the handler. A message is sorted when it comes: one whose time has not come goes back to wait,
 * one that came back unsettled goes to the suspects, all others are handed over, at most `prefetch` at a time, and a
 * suspect only while nothing else is.
 */
export class Intake {
  readonly #settings: RabbitmqSettings
  readonly #place: Place
  readonly #prefetch: number
  readonly #deliver: (delivery: Delivery) => void
  readonly #settler: Settler
  readonly #lost: LostDeliveries
  readonly #open = new Set<RabbitmqDelivery>()
  #backlog: RabbitmqDelivery[] = []
  #suspects: RabbitmqDelivery[] = []
  /** Those whose time comes in a moment. */
  readonly #resting = new Set<RabbitmqDelivery>()
  readonly #work = new Set<Promise<unknown>>()
  #mode: 'starting' | 'running' | 'paused' | 'closed' = 'starting'
  readonly #isolation: Isolation
  #tap: Tap | undefined

  constructor(
    settings: RabbitmqSettings,
    place: Place,
    prefetch: number,
    deliver: (delivery: Delivery) => void,
    settler: Settler,
    lost: LostDeliveries,
  ) {
    this.#settings = settings
    this.#place = place
    this.#prefetch = prefetch
    this.#deliver = deliver
    this.#settler = settler
    this.#lost = lost
    this.#isolation = new Isolation(settings.clock, () => this.#flowChanged())
  }

  /** The subscriber knows of its subscription in the next turn; a delivery before that could not be settled. */
  start(tap: Tap): void {
    this.#tap = tap
    void nextTurn().then(() => {
      if (this.#mode !== 'starting') return
      this.resume()
    })
  }

  holds(delivery: Delivery): delivery is RabbitmqDelivery {
    return this.#open.has(delivery as RabbitmqDelivery) && (delivery as RabbitmqDelivery).session.isOpen
  }

  settled(delivery: RabbitmqDelivery): void {
    this.#open.delete(delivery)
    delivery.session.settled(delivery.message)
    this.#pump()
  }

  /** While it is being made durable it cannot be settled again; its place is free when it is acknowledged. */
  async during(delivery: RabbitmqDelivery, work: Promise<boolean>): Promise<boolean> {
    this.#open.delete(delivery)
    this.#work.add(work)
    try {
      const isDurable = await work
      if (isDurable) delivery.session.settled(delivery.message)
      return isDurable
    } finally {
      this.#work.delete(work)
      this.#pump()
    }
  }

  suspectsWait(): void {
    if (this.#mode === 'closed') return
    this.#isolation.suspectsWait(this.#isBusy)
  }

  receive(session: Session, message: AmqpMessage, isSuspect: boolean): void {
    const { delivery, isStray } = this.#read(session, message, isSuspect)
    const { past } = delivery
    const waitMs = readWaitMs(message.properties.headers ?? {}, this.#settings.clock.now())
    if (isStray && isSuspect) this.#moveAside(delivery, addCrash(past))
    else if (waitMs > IN_PROCESS_REST_MS)
      void this.during(delivery, this.#settler.putBack(delivery, this.#place.queue, waitMs))
    else if (!isSuspect && (isStray || past.isSuspected))
      this.#moveAside(delivery, { ...past, isSuspected: true })
    else if (waitMs > 0) this.#rest(delivery, waitMs)
    else this.#offer(delivery)
  }

  /** What flows is what was asked for, again: it may be time for something else. */
  turned(): void {
    this.#pump()
  }

  /** The channel is gone: what was open on it comes again, to us or to another. */
  lose(session: Session): void {
    for (const delivery of this.#held()) if (delivery.session === session) this.#lost.add(delivery)
    for (const set of [this.#open, this.#resting])
      for (const delivery of set) if (delivery.session === session) set.delete(delivery)
    this.#backlog = this.#backlog.filter(delivery => delivery.session !== session)
    this.#suspects = this.#suspects.filter(delivery => delivery.session !== session)
    this.#pump()
  }

  pause(): void {
    if (this.#mode === 'closed') return
    this.#mode = 'paused'
    void this.#turn()
  }

  resume(): void {
    if (this.#mode === 'closed') return
    this.#mode = 'running'
    void this.#turn()
    this.#pump()
  }

  async close(): Promise<void> {
    if (this.#mode === 'closed') return
    this.#mode = 'closed'
    this.#isolation.end()
    const tap = this.#tap!
    const { clock } = this.#settings
    await within(clock, CLOSE_MS, this.#turn())
    await within(clock, CLOSE_MS, Promise.allSettled([...this.#work]))
    const left = this.#held().filter(delivery => delivery.session.isOpen)
    this.#open.clear()
    this.#resting.clear()
    this.#backlog = []
    this.#suspects = []
    await within(clock, CLOSE_MS, Promise.allSettled(left.map(delivery => this.#giveBack(delivery))))
    if (tap.flush()) await rest(clock, DRAIN_MS)
    await tap.close()
  }

  /** With what is known of it, which the server could not tell: it would mark it as one that may have killed us. */
  async #giveBack(delivery: RabbitmqDelivery): Promise<void> {
    await this.#settler.giveBack(delivery, this.#place.queue)
    delivery.session.settled(delivery.message)
  }

  /** A stray came back unsettled, and not to the one who had it: its process may have died of it. */
  #read(
    session: Session,
    message: AmqpMessage,
    isSuspect: boolean,
  ): { delivery: RabbitmqDelivery; isStray: boolean } {
    const delivery = new RabbitmqDelivery(session, message, this.#place, isSuspect)
    if (!message.fields.redelivered) return { delivery, isStray: false }
    const known = this.#lost.take(delivery)
    if (known === undefined) return { delivery, isStray: true }
    return { delivery: new RabbitmqDelivery(session, message, this.#place, isSuspect, known), isStray: false }
  }

  #rest(delivery: RabbitmqDelivery, waitMs: number): void {
    this.#resting.add(delivery)
    this.#settings.clock.schedule(waitMs, () => {
      if (this.#resting.delete(delivery)) this.#offer(delivery)
    })
  }

  #offer(delivery: RabbitmqDelivery): void {
    if (!delivery.session.isOpen) return
    if (delivery.isSuspect) {
      this.#suspects.push(delivery)
      this.#isolation.arrived()
    } else this.#backlog.push(delivery)
    this.#pump()
  }

  #moveAside(delivery: RabbitmqDelivery, past: Past): void {
    const moving = this.during(delivery, this.#settler.suspect(delivery, this.#place.queue, past))
    void moving.then(() => this.suspectsWait())
  }

  #held(): RabbitmqDelivery[] {
    return [...this.#open, ...this.#resting, ...this.#backlog, ...this.#suspects]
  }

  get #isBusy(): boolean {
    const { flow } = this.#isolation
    if (flow === 'all' || flow === 'draining')
      return this.#open.size + this.#resting.size + this.#backlog.length > 0
    return this.#suspects.length > 0 || [...this.#open, ...this.#resting].some(({ isSuspect }) => isSuspect)
  }

  #next(): RabbitmqDelivery | undefined {
    const { flow } = this.#isolation
    if (flow === 'leaving') return undefined
    return (flow === 'alone' ? this.#suspects : this.#backlog).shift()
  }

  #pump(): void {
    while (this.#mode === 'running' && this.#open.size + this.#work.size < this.#prefetch) {
      const delivery = this.#next()
      if (delivery === undefined) break
      this.#open.add(delivery)
      this.#deliver(delivery)
    }
    if (this.#mode !== 'closed' && this.#tap?.isAsWanted && !this.#isBusy) this.#isolation.rest()
  }

  #flowChanged(): void {
    void this.#turn()
    this.#pump()
  }

  #turn(): Promise<void> {
    const { flow } = this.#isolation
    const wanted = flow === 'alone' ? 'suspects' : flow === 'all' ? 'queue' : 'none'
    return this.#tap?.turn(this.#mode === 'running' ? wanted : 'none') ?? Promise.resolve()
  }
}
