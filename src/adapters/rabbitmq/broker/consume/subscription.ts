import { PendingWork } from '../../../../adapter-kit/pending-work.ts'
import type { AttemptRecord } from '../../../../core/dead-letter/letter.ts'
import {
  type Delivery,
  DeliveryLostError,
  type Settlement,
  type Subscription,
} from '../../../../ports/broker.ts'
import { settlesWithin, yieldToEventLoop } from '../../../../ports/clock.ts'
import type { AmqpMessage } from '../../connection/amqp.ts'
import { CLOSE_MS } from '../../connection/link.ts'
import { TopologyError } from '../../errors.ts'
import { IN_PROCESS_WAIT_MS, suspectsQueue } from '../topology/names.ts'
import { addCrash, type MessageLog, readWaitMs } from '../wire/message-log.ts'
import type { ConsumerChannel } from './consumer-channel.ts'
import type { SubscriptionContext } from './context.ts'
import { RabbitmqDelivery } from './delivery.ts'
import { Isolation } from './isolation.ts'
import { QueueReader } from './queue-reader.ts'

const NOT_FOUND = 404

/**
 * A subscription without order. A message is sorted when it comes: one whose time has not come goes back to wait, one that
 * came back unsettled goes to the suspects, all others are delivered, at most `prefetch` at a time, and a suspect only
 * while nothing else is.
 */
export class RabbitmqSubscription implements Subscription {
  readonly #context: SubscriptionContext
  readonly #reader: QueueReader
  readonly #isolation: Isolation
  readonly #open = new Set<RabbitmqDelivery>()
  #backlog: RabbitmqDelivery[] = []
  #suspects: RabbitmqDelivery[] = []
  /** Deliveries whose wait ends soon. */
  readonly #resting = new Set<RabbitmqDelivery>()
  /** Settlements that are being made durable. */
  readonly #settling = new PendingWork()
  #mode: 'starting' | 'running' | 'paused' | 'closed' = 'starting'
  #closing: Promise<void> | undefined

  constructor(context: SubscriptionContext) {
    this.#context = context
    this.#reader = new QueueReader(context, {
      receive: (channel, message, isSuspect) => this.#receive(channel, message, isSuspect),
      suspectsWait: () => this.#suspectsWait(),
      lose: channel => this.#lose(channel),
      switched: () => this.#pump(),
    })
    this.#isolation = new Isolation(context.settings.clock, () => {
      void this.#switchReader()
      this.#pump()
    })
  }

  async open(): Promise<void> {
    try {
      await this.#reader.open()
    } catch (error) {
      await this.#reader.close()
      const isMissing = (error as { readonly code?: unknown }).code === NOT_FOUND
      throw isMissing ? notThere(this.#context.source.queue, error) : error
    }
  }

  /** The subscriber knows of its subscription in the next turn; a delivery before that could not be settled. */
  start(): void {
    void yieldToEventLoop().then(() => {
      if (this.#mode === 'starting') this.resume()
    })
  }

  /**
   * The start is on record here, and with the next publishing of the message. A process that dies takes this record with it;
   * then the server delivers the message again marked as such, and it is counted when it comes back.
   */
  begin(delivery: Delivery, ended: readonly AttemptRecord[]): void | Promise<void> {
    if (!this.#holds(delivery)) return this.#rejectLost(delivery)
    delivery.recordEnds(ended)
    delivery.recordStart()
  }

  settle(delivery: Delivery, settlement: Settlement): void | Promise<void> {
    if (!this.#holds(delivery)) return this.#rejectLost(delivery)
    if (settlement.outcome === 'done' || (settlement.outcome === 'dead' && settlement.saved)) {
      this.#open.delete(delivery)
      delivery.amqpChannel.settled(delivery.message)
      this.#pump()
      return
    }
    return this.#settleDurably(delivery, settlement)
  }

  pause(): void {
    if (this.#mode === 'closed') return
    this.#mode = 'paused'
    void this.#switchReader()
  }

  resume(): void {
    if (this.#mode === 'closed') return
    this.#mode = 'running'
    void this.#switchReader()
    this.#pump()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close().finally(this.#context.forget)
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#mode = 'closed'
    this.#isolation.end()
    const { clock } = this.#context.settings
    await settlesWithin(clock, CLOSE_MS, this.#switchReader())
    await settlesWithin(clock, CLOSE_MS, this.#settling.settled())
    const left = this.#held().filter(delivery => delivery.amqpChannel.isOpen)
    this.#open.clear()
    this.#resting.clear()
    this.#backlog = []
    this.#suspects = []
    await settlesWithin(clock, CLOSE_MS, Promise.allSettled(left.map(delivery => this.#giveBack(delivery))))
    await this.#reader.close()
  }

  /**
   * The message is returned with its log. The server cannot add the log, and would mark the message as one that may have
   * crashed this process.
   */
  async #giveBack(delivery: RabbitmqDelivery): Promise<void> {
    await this.#context.settler.giveBack(delivery)
    delivery.amqpChannel.settled(delivery.message)
  }

  async #settleDurably(
    delivery: RabbitmqDelivery,
    settlement: Exclude<Settlement, { outcome: 'done' }>,
  ): Promise<void> {
    const { settler, settings } = this.#context
    if (settlement.outcome === 'retry') delivery.recordEnds(settlement.ended)
    if (settlement.outcome === 'release') delivery.takeBackStart()
    const work =
      settlement.outcome === 'dead'
        ? settler.keepLetter(delivery, settlement.letter)
        : settler.putBack(delivery, settlement.notBefore - settings.clock.now())
    if (!(await this.#during(delivery, work))) await this.#rejectLost(delivery)
  }

  /** A delivery that is being made durable cannot be settled again; its place is free when it is acknowledged. */
  async #during(delivery: RabbitmqDelivery, work: Promise<boolean>): Promise<boolean> {
    this.#open.delete(delivery)
    this.#settling.begin()
    try {
      const isDurable = await work
      if (isDurable) delivery.amqpChannel.settled(delivery.message)
      return isDurable
    } finally {
      this.#settling.end()
      this.#pump()
    }
  }

  #receive(channel: ConsumerChannel, message: AmqpMessage, isSuspect: boolean): void {
    const { settler, settings, source, lost } = this.#context
    const { redelivered } = message.fields
    const asRead = new RabbitmqDelivery(channel, message, source, isSuspect)
    const known = redelivered ? lost.take(asRead) : undefined
    const delivery =
      known === undefined ? asRead : new RabbitmqDelivery(channel, message, source, isSuspect, known)
    // A stray came back unsettled, and not to the one who had it: its process may have died of it.
    const isStray = redelivered && known === undefined
    const waitMs = readWaitMs(message.properties.headers ?? {}, settings.clock.now())
    if (isStray && isSuspect) this.#moveAside(delivery, addCrash(delivery.log))
    else if (waitMs > IN_PROCESS_WAIT_MS) void this.#during(delivery, settler.putBack(delivery, waitMs))
    else if (!isSuspect && (isStray || delivery.isSuspected))
      this.#moveAside(delivery, { ...delivery.log, isSuspected: true })
    else if (waitMs > 0) this.#rest(delivery, waitMs)
    else this.#offer(delivery)
  }

  #rest(delivery: RabbitmqDelivery, waitMs: number): void {
    this.#resting.add(delivery)
    this.#context.settings.clock.schedule(waitMs, () => {
      if (this.#resting.delete(delivery)) this.#offer(delivery)
    })
  }

  #offer(delivery: RabbitmqDelivery): void {
    if (!delivery.amqpChannel.isOpen) return
    if (delivery.isSuspect) {
      this.#suspects.push(delivery)
      this.#isolation.arrived()
    } else this.#backlog.push(delivery)
    this.#pump()
  }

  #moveAside(delivery: RabbitmqDelivery, log: MessageLog): void {
    const moving = this.#during(delivery, this.#context.settler.suspect(delivery, log))
    void moving.then(() => this.#suspectsWait())
  }

  #suspectsWait(): void {
    if (this.#mode !== 'closed') this.#isolation.suspectsWait(this.#isBusy)
  }

  /** The channel is gone: its open messages are delivered again, to this or to another consumer. */
  #lose(channel: ConsumerChannel): void {
    for (const delivery of this.#held())
      if (delivery.amqpChannel === channel) this.#context.lost.add(delivery)
    for (const set of [this.#open, this.#resting])
      for (const delivery of set) if (delivery.amqpChannel === channel) set.delete(delivery)
    this.#backlog = this.#backlog.filter(delivery => delivery.amqpChannel !== channel)
    this.#suspects = this.#suspects.filter(delivery => delivery.amqpChannel !== channel)
    this.#pump()
  }

  #holds(delivery: Delivery): delivery is RabbitmqDelivery {
    return this.#open.has(delivery as RabbitmqDelivery) && (delivery as RabbitmqDelivery).amqpChannel.isOpen
  }

  #held(): RabbitmqDelivery[] {
    return [...this.#open, ...this.#resting, ...this.#backlog, ...this.#suspects]
  }

  get #isBusy(): boolean {
    const { state } = this.#isolation
    if (state === 'all' || state === 'draining')
      return this.#open.size + this.#resting.size + this.#backlog.length > 0
    return this.#suspects.length > 0 || [...this.#open, ...this.#resting].some(({ isSuspect }) => isSuspect)
  }

  #next(): RabbitmqDelivery | undefined {
    const { state } = this.#isolation
    if (state === 'leaving') return undefined
    return (state === 'alone' ? this.#suspects : this.#backlog).shift()
  }

  #pump(): void {
    const { prefetch, deliver } = this.#context
    while (this.#mode === 'running' && this.#open.size + this.#settling.count < prefetch) {
      const delivery = this.#next()
      if (delivery === undefined) break
      this.#open.add(delivery)
      deliver(delivery)
    }
    if (this.#mode !== 'closed' && this.#reader.isAsWanted && !this.#isBusy) this.#isolation.rest()
  }

  #switchReader(): Promise<void> {
    const { state } = this.#isolation
    const wanted = state === 'alone' ? 'suspects' : state === 'all' ? 'queue' : 'none'
    return this.#reader.switchTo(this.#mode === 'running' ? wanted : 'none')
  }

  #rejectLost(delivery: Delivery): Promise<void> {
    return Promise.reject(new DeliveryLostError(this.#context.source.broker, delivery.channel))
  }
}

function notThere(queue: string, cause: unknown): TopologyError {
  const problem = `it or '${suspectsQueue(queue)}' does not exist`
  return new TopologyError(
    `queue '${queue}'`,
    problem,
    `declare it: lazaret rabbitmq declare ${queue}`,
    cause,
  )
}
