import { TooManyHeldError } from '../../../../adapter-kit/ordered/too-many-held.ts'
import { PendingWork } from '../../../../adapter-kit/pending-work.ts'
import type { AttemptRecord } from '../../../../core/dead-letter/letter.ts'
import {
  type Delivery,
  DeliveryLostError,
  type Settlement,
  type Subscription,
} from '../../../../ports/broker.ts'
import { type Cancel, monotonicNow, settlesWithin, yieldToEventLoop } from '../../../../ports/clock.ts'
import type { AmqpMessage } from '../../connection/amqp.ts'
import { CLOSE_MS } from '../../connection/link.ts'
import type { ConsumerChannel } from '../consume/consumer-channel.ts'
import type { SubscriptionContext } from '../consume/context.ts'
import { RabbitmqDelivery } from '../consume/delivery.ts'
import { heldQueue } from '../topology/names.ts'
import { OWN } from '../wire/headers.ts'
import { dueAtOf, type HeldMessages, headerOf, isRequestFor, lineOf, placeOf } from './held-messages.ts'
import { KeyQueues, type QueuedEvent } from './key-queues.ts'
import { Ownership, REFRESH_MS } from './ownership.ts'

/** The number of events that may wait for others of their key before the consumer stops reading. */
const ORDER_WINDOW = 1_000
/** The most events in the held queue. The server gives at most 65 535 to a consumer, and the owner needs all of them. */
const MAX_HELD = 50_000

/**
 * A subscription that delivers the events of a key one at a time and in their order. The first of a key that cannot be
 * handled now holds the others.
 *
 * Fresh events come from the queue. Held events come back through the held queue as a new copy, which replaces the one
 * before. Until a copy has come, the one before is not acknowledged, so that there is one on the server at any time.
 */
export class OrderedSubscription implements Subscription {
  readonly #context: SubscriptionContext
  readonly #ownership: Ownership
  readonly #queues = new KeyQueues()
  readonly #open = new Map<Delivery, QueuedEvent>()
  readonly #settling = new PendingWork()
  readonly #maxHeld: number
  #wasFull = false
  /** The channel of the owner; undefined while another keeps the order. */
  #channel: ConsumerChannel | undefined
  /** Called when the last that is open is settled; nothing is delivered before the order is ours again. */
  #drained: (() => void) | undefined
  #mode: 'starting' | 'running' | 'paused' | 'closed' = 'starting'
  #stopRenewing: Cancel = () => {}
  #closing: Promise<void> | undefined

  constructor(context: SubscriptionContext, window = context.prefetch + ORDER_WINDOW, maxHeld = MAX_HELD) {
    this.#context = context
    this.#maxHeld = maxHeld
    this.#ownership = new Ownership(context, window, {
      own: (channel, held) => this.#own(channel, held),
      held: (channel, message) => this.#receiveHeld(channel, message),
      receive: (channel, message) => this.#receive(channel, message),
      drain: () => this.#drain(),
      lose: channel => this.#lose(channel),
    })
  }

  async open(): Promise<void> {
    const { topology, source } = this.#context
    await topology.order(source.channel, source.queue)
    await this.#ownership.open()
  }

  /** The subscriber knows of its subscription in the next turn. */
  start(): void {
    this.#renewLater()
    void yieldToEventLoop().then(() => this.resume())
  }

  /** The start of a message that was returned unsettled is recorded first, because it may crash this process too. */
  begin(delivery: Delivery, ended: readonly AttemptRecord[]): void | Promise<void> {
    const entry = this.#entryOf(delivery)
    if (entry === undefined) return this.#rejectLost(delivery)
    const own = delivery as RabbitmqDelivery
    own.recordEnds(ended)
    const isFirstSuspicion = entry.isStray && own.log.started === own.log.ended
    own.recordStart()
    if (!entry.isStray) return
    if (isFirstSuspicion) own.suspect()
    return this.#during(own, this.#context.settler.hold(own, entry.place, 0))
  }

  settle(delivery: Delivery, settlement: Settlement): void | Promise<void> {
    const entry = this.#entryOf(delivery)
    if (entry === undefined) return this.#rejectLost(delivery)
    this.#open.delete(delivery)
    this.#pump()
    const own = delivery as RabbitmqDelivery
    if (settlement.outcome === 'done') this.#finish(entry)
    else if (settlement.outcome === 'dead') return this.#during(own, this.#settleDead(own, entry, settlement))
    else {
      // A ledger can still have the claim of the process that died. Then no attempt has begun, and the next one runs alone too.
      entry.isStray &&= settlement.outcome === 'release' && !own.hasStarted
      if (settlement.outcome === 'retry') own.recordEnds(settlement.ended)
      else own.takeBackStart()
      entry.state = 'waiting'
      entry.delivery = undefined
      const { settler, settings } = this.#context
      const waitMs = settlement.notBefore - settings.clock.now()
      return this.#during(own, settler.hold(own, entry.place, waitMs))
    }
  }

  pause(): void {
    if (this.#mode !== 'closed') this.#mode = 'paused'
  }

  resume(): void {
    if (this.#mode === 'closed') return
    this.#mode = 'running'
    this.#pump()
  }

  /** The server takes back the open messages in their order. */
  close(): Promise<void> {
    this.#closing ??= this.#close().finally(this.#context.forget)
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#stopRenewing()
    this.#mode = 'closed'
    this.#open.clear()
    this.#context.source.stalls.ended('deliveries', this)
    await settlesWithin(this.#context.settings.clock, CLOSE_MS, this.#settling.settled())
    await this.#ownership.close()
  }

  async #settleDead(
    delivery: RabbitmqDelivery,
    entry: QueuedEvent,
    { letter, saved }: Extract<Settlement, { outcome: 'dead' }>,
  ): Promise<boolean> {
    const { settler } = this.#context
    if (!saved && !(await settler.keepLetter(delivery, letter))) return false
    if (delivery.event?.key === undefined) {
      this.#finish(entry)
      return true
    }
    entry.state = 'dead'
    entry.delivery = undefined
    if (!(await settler.markDead(delivery, entry.place, entry.key))) return false
    this.#decideEarly(entry)
    return true
  }

  /** A letter exists before its key is blocked, so it may have been replayed or discarded meanwhile. */
  #decideEarly(entry: QueuedEvent): void {
    const again = this.#queues.again(entry)
    if (again?.delivery !== undefined) {
      this.#settleRequests(entry)
      this.#queues.remove(again)
      void this.#publishedAgain(entry, again.delivery)
    } else if (entry.requests.length > 0) this.#finish(entry)
  }

  #settleRequests(entry: QueuedEvent): void {
    for (const request of entry.requests) this.#channel?.settled(request)
    entry.requests = []
  }

  async #during(delivery: RabbitmqDelivery, work: Promise<boolean>): Promise<void> {
    this.#settling.begin()
    try {
      if (!(await work)) await this.#rejectLost(delivery)
    } finally {
      this.#settling.end()
    }
  }

  #rejectLost(delivery: Delivery): Promise<void> {
    return Promise.reject(new DeliveryLostError(this.#context.source.broker, delivery.channel))
  }

  /** The entry of a delivery that is open, or undefined. */
  #entryOf(delivery: Delivery): QueuedEvent | undefined {
    return this.#channel?.isOpen ? this.#open.get(delivery) : undefined
  }

  /** The server limits how long a message may be unsettled: all waiting messages are written again. */
  #renewLater(): void {
    this.#stopRenewing = this.#context.settings.clock.schedule(REFRESH_MS, () => {
      for (const line of this.#queues.lines()) void this.#renew(line).catch(() => {})
      this.#renewLater()
    })
  }

  /** The next owner delivers held events first, so that none is held before all in front of it are. */
  async #renew(line: readonly QueuedEvent[]): Promise<void> {
    const { settler, source } = this.#context
    for (const entry of [...line]) {
      const { state, delivery, message, place, dueAt, isHeld } = entry
      if (this.#queues.at(place) !== entry) continue
      if (state === 'dead') {
        if (message !== undefined) await settler.renewHeld(source.queue, message)
      } else if (state !== 'open' && delivery !== undefined) {
        if (!isHeld && this.#isFull) return
        if (!(await settler.hold(delivery, place, this.#msUntil(dueAt)))) return
      } else if (!isHeld) return
    }
  }

  get #isFull(): boolean {
    return this.#queues.held >= this.#maxHeld
  }

  #reportFull(): void {
    const { stalls, queue } = this.#context.source
    if (this.#isFull === this.#wasFull) return
    this.#wasFull = this.#isFull
    const error = new TooManyHeldError(`queue '${heldQueue(queue)}'`, this.#maxHeld)
    if (this.#isFull) stalls.stalled('deliveries', this, error)
    else stalls.ended('deliveries', this)
  }

  #own(channel: ConsumerChannel, { newest, displaced, requests }: HeldMessages): void {
    if (this.#channel !== undefined) this.#lose(this.#channel)
    this.#channel = channel
    this.#drained = undefined
    for (const [place, message] of newest) this.#load(channel, place, message)
    for (const message of displaced) this.#load(channel, this.#queues.nextPlace(), message)
    for (const message of requests) this.#receiveHeld(channel, message)
    this.#pump()
  }

  #load(channel: ConsumerChannel, place: number, message: AmqpMessage): void {
    const id = headerOf(message, OWN.deadEvent)
    if (id !== undefined) {
      const line = headerOf(message, OWN.key) ?? ''
      this.#add({ ...this.#newEntry(line, place, message), id, state: 'dead', isHeld: true })
      return
    }
    const delivery = this.#read(channel, message, true)
    const entry = this.#newEntry(lineOf(delivery, place), place, message)
    this.#add({ ...entry, id: delivery.id, delivery, isStray: true, isHeld: true })
  }

  #receiveHeld(channel: ConsumerChannel, message: AmqpMessage): void {
    const unblocked = headerOf(message, OWN.unblockKey)
    if (unblocked !== undefined) {
      if (!this.#unblock(unblocked, message)) channel.settled(message)
      return
    }
    const place = placeOf(message)
    const entry = this.#queues.at(place)
    const deadId = headerOf(message, OWN.deadEvent)
    const delivery = deadId === undefined ? this.#read(channel, message) : undefined
    if (entry !== undefined && entry.id === (deadId ?? delivery?.id)) this.#replace(entry, message, delivery)
    // Another owner had it: it was not counted when this one began.
    else if (message.fields.redelivered || place >= this.#queues.nextPlace())
      this.#ownership.loadAgain(channel)
    // An extra copy, from a publish whose confirmation came too late.
    else channel.settled(message)
  }

  /** Answers whether there is such an event, with which the request is settled. */
  #unblock(id: string, request: AmqpMessage): boolean {
    const entry = this.#queues.dead(id) ?? this.#queues.withId(id)[0]
    if (entry === undefined || !isRequestFor(request, this.#context.source.queue)) return false
    entry.requests = [...entry.requests, request]
    if (entry.state === 'dead') this.#finish(entry)
    return true
  }

  #receive(channel: ConsumerChannel, message: AmqpMessage): void {
    const { redelivered: isStray } = message.fields
    const delivery = this.#read(channel, message)
    const { id } = delivery
    const place = this.#queues.nextPlace()
    const key = lineOf(delivery, place)
    const same = this.#queues.sameAs(delivery, key)
    if (same?.state === 'dead') void this.#publishedAgain(same, delivery)
    else if (same !== undefined && isStray) channel.settled(message)
    else this.#add({ ...this.#newEntry(key, place, message), id, delivery, isStray })
  }

  #drain(): Promise<void> {
    return new Promise(resolve => {
      this.#drained = resolve
      this.#pump()
    })
  }

  #lose(channel: ConsumerChannel): void {
    if (this.#channel !== channel) return
    this.#channel = undefined
    for (const { delivery, state, isStray } of this.#queues.all())
      if (delivery !== undefined) {
        // The start of a stray is recorded on the server.
        const isRecorded = state === 'open' && isStray
        this.#context.lost.add(delivery, isRecorded ? delivery.startedNow : delivery.started)
      }
    this.#open.clear()
    this.#queues.clear()
    this.#reportFull()
  }

  #add(entry: QueuedEvent): void {
    this.#queues.add(entry)
    if (entry.state === 'waiting') this.#wait(entry)
    else this.#pump()
  }

  /** A new copy has come: it is the one that counts from now on. */
  #replace(entry: QueuedEvent, message: AmqpMessage, delivery: RabbitmqDelivery | undefined): void {
    if (entry.message !== undefined) this.#channel?.settled(entry.message)
    entry.message = message
    this.#queues.hold(entry)
    if (entry.state === 'open') return
    entry.delivery = delivery
    if (delivery === undefined) entry.state = 'dead'
    else {
      entry.state = 'waiting'
      entry.dueAt = dueAtOf(message, this.#context.settings.clock)
      this.#wait(entry)
    }
    this.#queues.look(entry.key)
  }

  #wait(entry: QueuedEvent): void {
    const { delivery } = entry
    const becomeReady = () => {
      if (entry.delivery !== delivery || entry.state !== 'waiting') return
      entry.state = 'ready'
      this.#queues.look(entry.key)
      this.#pump()
    }
    const waitMs = this.#msUntil(entry.dueAt)
    if (waitMs <= 0) becomeReady()
    else this.#context.settings.clock.schedule(waitMs, becomeReady)
  }

  #newEntry(key: string, place: number, message: AmqpMessage): QueuedEvent {
    const dueAt = dueAtOf(message, this.#context.settings.clock)
    const state = this.#msUntil(dueAt) > 0 ? 'waiting' : 'ready'
    const parts = { id: undefined, delivery: undefined, isStray: false, isHeld: false, requests: [] }
    return { ...parts, key, place, state, message, dueAt }
  }

  #msUntil(dueAt: number): number {
    return dueAt - monotonicNow(this.#context.settings.clock)
  }

  /** The event takes the position of its death. The mark of the death is removed when the event is stored there. */
  async #publishedAgain(entry: QueuedEvent, delivery: RabbitmqDelivery): Promise<void> {
    if (await this.#context.settler.hold(delivery, entry.place, 0))
      delivery.amqpChannel.settled(delivery.message)
  }

  #finish(entry: QueuedEvent): void {
    if (entry.message !== undefined) this.#channel?.settled(entry.message)
    this.#settleRequests(entry)
    this.#queues.remove(entry)
    this.#pump()
  }

  /** Reads a message. If a crashed process had recorded its start, the message caused the crash. */
  #read(channel: ConsumerChannel, message: AmqpMessage, wasHeld = false): RabbitmqDelivery {
    const { source, lost } = this.#context
    const delivery = new RabbitmqDelivery(channel, message, source, false)
    const known = message.fields.redelivered ? lost.take(delivery) : undefined
    const hasCrashed = wasHeld && delivery.isSuspected
    const better =
      known ??
      (hasCrashed ? { ...delivery.log, started: delivery.started + 1, isSuspected: false } : undefined)
    return better === undefined ? delivery : new RabbitmqDelivery(channel, message, source, false, better)
  }

  #pump(): void {
    if (this.#drained !== undefined) {
      if (this.#open.size === 0) this.#drained()
      return
    }
    const { prefetch, deliver } = this.#context
    this.#reportFull()
    while (this.#mode === 'running' && this.#open.size < prefetch) {
      // Those that begin now could be held too.
      const entry = this.#isFull ? this.#queues.readyHeld : this.#queues.ready
      if (entry?.delivery === undefined || !this.#mayRun(entry)) return
      entry.state = 'open'
      this.#queues.look(entry.key)
      this.#open.set(entry.delivery, entry)
      deliver(entry.delivery)
    }
  }

  /** A stray runs alone: should the process die, it is known which one it was. */
  #mayRun(entry: QueuedEvent): boolean {
    if (this.#open.size === 0) return true
    const [[, first] = []] = this.#open
    return !entry.isStray && first?.isStray !== true
  }
}
