import type { AttemptRecord } from '../src/core/dead-letter/letter.ts'
import type { LazaretEvent } from '../src/core/event/event.ts'
import { REPLAY_HEADERS } from '../src/core/event/replay-headers.ts'
import {
  type Broker,
  type BrokerCapabilities,
  type Delivery,
  DeliveryLostError,
  type Settlement,
  type SubscribeOptions,
  type Subscription,
} from '../src/ports/broker.ts'
import { type EventName, nameOf, replayIdOf, replayOf } from './names.ts'
import { InjectedError, type Process } from './process.ts'

/** The name of the broker for the processes. */
export const CONNECTION_NAME = 'world'

/** The connection of a process to the broker of the world. */
export class Connection implements Broker {
  readonly name = CONNECTION_NAME
  readonly capabilities: BrokerCapabilities
  readonly subscriptions: ClientSubscription[] = []
  readonly #process: Process

  constructor(process: Process) {
    this.#process = process
    const { broker, plan } = process.world
    this.capabilities = { ...broker.capabilities, delay: plan.brokerDelays }
  }

  async publish(events: readonly LazaretEvent[]): Promise<void> {
    await this.#process.callPort('broker', 'publish', () => {
      for (const event of events) this.#recordReplay(event)
      return this.#process.world.broker.publish(events)
    })
  }

  async subscribe(options: SubscribeOptions, deliver: (delivery: Delivery) => void): Promise<Subscription> {
    const subscription = new ClientSubscription(this.#process, options, deliver)
    this.subscriptions.push(subscription)
    try {
      await this.#process.callPort('subscribe', 'subscribe', () => subscription.open())
      subscription.confirmSubscribed()
    } catch (error) {
      subscription.disconnect()
      throw error
    }
    return subscription
  }

  async unblockKey(channel: string, eventId: string, handler?: string): Promise<void> {
    const { broker, history } = this.#process.world
    await this.#process.callPort('broker', 'unblockKey', () => {
      history.record({ what: 'unblockKey', event: eventId, channel, handler })
      return broker.unblockKey(channel, eventId, handler)
    })
  }

  /** Only a process of a fleet publishes through its consumers, for a replay. */
  #recordReplay(event: LazaretEvent): void {
    const { name: by, world } = this.#process
    const { id, channel, headers } = event
    const to = headers[REPLAY_HEADERS.handler]
    const replayId = replayIdOf(event)
    world.history.record({
      ...{ what: 'published', event: id, channel, replay: replayOf(event), by },
      ...(to !== undefined && { to }),
      ...(replayId !== undefined && { replayId }),
    })
  }

  async close(): Promise<void> {
    for (const subscription of this.subscriptions) subscription.disconnect()
  }
}

/**
 * A subscription of a client library, which outlives its connection. After a failed call the client detects the broken
 * connection, the broker takes the open deliveries back, and the client reconnects. The process can still be handling
 * a delivery that it has lost.
 */
export class ClientSubscription implements Subscription {
  readonly #process: Process
  readonly #options: SubscribeOptions
  readonly #deliver: (delivery: Delivery) => void
  readonly #numbers = new WeakMap<Delivery, number>()
  #inner: Subscription | undefined
  readonly #early: { readonly inner: Subscription; readonly delivery: Delivery }[] = []
  #isConfirmed = false
  #isPaused = false
  #isClosed = false

  constructor(process: Process, options: SubscribeOptions, deliver: (delivery: Delivery) => void) {
    this.#process = process
    this.#options = options
    this.#deliver = deliver
    process.atEnd(() => this.#detectEnd())
  }

  async open(): Promise<void> {
    const { broker } = this.#process.world
    const inner = await broker.subscribe(this.#options, delivery => this.#receive(inner, delivery))
    if (this.#isClosed || !this.#process.isAlive) await inner.close()
    else {
      this.#inner = inner
      if (this.#isPaused) inner.pause()
    }
  }

  /** Confirms the subscription to the subscriber. Deliveries that arrived before follow now. */
  confirmSubscribed(): void {
    this.#process.world.clock.schedule(0, () => {
      this.#isConfirmed = true
      for (const { inner, delivery } of this.#early.splice(0)) this.#deliverNow(inner, delivery)
    })
  }

  begin(delivery: Delivery, ended: readonly AttemptRecord[]): void | Promise<void> {
    const askedAt = this.#process.takeClaimTime(this.#options.handler, delivery)
    return this.#call(
      'begin',
      delivery,
      inner => inner.begin(delivery, ended),
      () => this.#process.world.history.record({ what: 'begun', ...this.#about(delivery), askedAt }),
    )
  }

  settle(delivery: Delivery, settlement: Settlement): void | Promise<void> {
    const { history } = this.#process.world
    const { outcome } = settlement
    if (this.#process.isAlive) history.record({ what: 'settling', ...this.#about(delivery), outcome })
    const saved = settlement.outcome === 'dead' && settlement.saved
    return this.#call(
      `settle ${outcome}`,
      delivery,
      inner => inner.settle(delivery, settlement),
      () => history.record({ what: 'settled', ...this.#about(delivery), outcome, saved }),
    )
  }

  pause(): void {
    this.#isPaused = true
    if (this.#process.isAlive) this.#inner?.pause()
  }

  resume(): void {
    this.#isPaused = false
    if (this.#process.isAlive) this.#inner?.resume()
  }

  async close(): Promise<void> {
    await this.#process.callPort('broker', 'close', () => this.disconnect())
  }

  disconnect(): void {
    this.#isClosed = true
    void this.#inner?.close()
    this.#inner = undefined
  }

  /** Breaks the connection. The broker delivers the open deliveries again. */
  breakConnection(): void {
    if (this.#inner === undefined) return
    const { world, name } = this.#process
    const { handler } = this.#options
    world.history.record({ what: 'connectionLost', consumer: `${name}/${handler}`, handler })
    void this.#inner.close()
    this.#inner = undefined
    world.clock.schedule(world.faults.delayMs(1_000), () => {
      if (this.#process.isAlive && !this.#isClosed && this.#inner === undefined) void this.open()
    })
  }

  /** The broker detects the end of a process after a delay. */
  #detectEnd(): void {
    const { clock, faults } = this.#process.world
    clock.schedule(faults.delayMs(faults.areStopped ? 100 : 3_000), () => this.disconnect())
  }

  #call(
    call: string,
    delivery: Delivery,
    act: (inner: Subscription) => void | Promise<void>,
    took: () => void,
  ): void | Promise<void> {
    const { world } = this.#process
    const result = this.#process.callPort('broker', call, () => {
      const acted = this.#inner === undefined ? this.#refuse(delivery) : act(this.#inner)
      return acted === undefined ? took() : acted.then(took)
    })
    if (result === undefined) return
    return result.catch((error: unknown) => {
      if (error instanceof InjectedError)
        world.clock.schedule(world.faults.delayMs(2_000), () => this.breakConnection())
      throw error
    })
  }

  #refuse(delivery: Delivery): Promise<never> {
    return Promise.reject(new DeliveryLostError('world', delivery.channel))
  }

  #receive(inner: Subscription, delivery: Delivery): void {
    const { world } = this.#process
    const fault = world.faults.inject('delivery')
    if (fault.kind === 'late') world.clock.schedule(fault.ms, () => this.#deliverNow(inner, delivery))
    else this.#deliverNow(inner, delivery)
  }

  #deliverNow(inner: Subscription, delivery: Delivery): void {
    if (!this.#isConfirmed) {
      this.#early.push({ inner, delivery })
      return
    }
    if (!this.#process.isAlive || inner !== this.#inner) return
    const { history } = this.#process.world
    this.#numbers.set(delivery, this.#process.world.nextNumber())
    const { started, ended, content } = delivery
    const replayId = replayIdOf(content)
    history.record({ what: 'delivered', ...this.#about(delivery), started, ended, replayId })
    this.#process.runInside(() => this.#deliver(delivery))
  }

  #about(delivery: Delivery) {
    const { handler } = this.#options
    const consumer = `${this.#process.name}/${handler}`
    const event: EventName = nameOf(delivery.content)
    return {
      consumer,
      handler,
      event,
      delivery: this.#numbers.get(delivery) ?? 0,
      replay: replayOf(delivery.content),
    }
  }
}
