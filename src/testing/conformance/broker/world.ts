import assert from 'node:assert/strict'
import type { AttemptRecord, DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import type { Broker, Delivery, SubscribeOptions, Subscription } from '../../../ports/broker.ts'
import { type Fixture, sortedIds, type TestTiming, World } from '../harness.ts'

/** The fixture of each test: a broker of its own, and access to its server. */
export interface BrokerFixture extends Fixture<Broker> {
  readonly broker: Broker
  /** Sends bytes to a channel that are not an event. */
  publishRaw?(channel: string, raw: Uint8Array): Promise<void>
  /** The letters that the broker itself keeps for a channel. */
  keptLetters?(channel: string): Promise<readonly DeadLetter[]>
}

/** One test's view of a broker: a channel that no other test uses, and all deliveries. */
export class BrokerWorld extends World<Broker, BrokerFixture> {
  constructor(fixture: BrokerFixture) {
    super(fixture, fixture.broker)
  }

  get broker(): Broker {
    return this.port
  }

  events(count: number, input: { readonly key?: string } = {}): LazaretEvent[] {
    return this.make.events(count, { channel: this.channel, ...input })
  }

  /** Publishes new events and returns them. */
  async publish(count: number, input: { readonly key?: string } = {}): Promise<LazaretEvent[]> {
    const events = this.events(count, input)
    await this.broker.publish(events)
    return events
  }

  async subscribe(options: Partial<SubscribeOptions> = {}): Promise<Inbox> {
    const inbox = new Inbox(this.timing)
    const wanted = {
      channel: this.channel,
      handler: 'bill',
      prefetch: 100,
      ordering: 'none',
      ...options,
    } as const
    inbox.subscription = await this.broker.subscribe(wanted, delivery => inbox.receive(delivery))
    return inbox
  }

  /** A new subscription, and the first delivery of a new event to it. */
  async deliverOne(options: Partial<SubscribeOptions> = {}): Promise<Delivered> {
    const inbox = await this.subscribe(options)
    const [event] = await this.publish(1)
    return { inbox, event: event!, delivery: await inbox.next() }
  }

  /** Registers a handler with the channel, so that it gets all later events. */
  async registerHandler(options: Partial<SubscribeOptions> = {}): Promise<void> {
    await (await this.subscribe(options)).subscription.close()
  }

  letterOf(delivery: Delivery): DeadLetter {
    return this.make.letter({ event: eventOf(delivery), channel: this.channel })
  }

  /** Settles it as dead, and answers with its letter: saved elsewhere, or left to the broker to keep. */
  async settleAsDead({ subscription }: Inbox, delivery: Delivery, saved = true): Promise<DeadLetter> {
    const letter = this.letterOf(delivery)
    await subscription.settle(delivery, { outcome: 'dead', letter, saved })
    return letter
  }
}

interface Delivered {
  readonly inbox: Inbox
  readonly event: LazaretEvent
  readonly delivery: Delivery
}

/** The deliveries of a subscription, in the order of arrival. */
export class Inbox {
  readonly all: Delivery[] = []
  /** The arrival times, by the clock of the adapter. */
  readonly times: number[] = []
  /** Whether a delivery arrived before the subscription resolved. */
  wasEarly = false
  readonly #timing: TestTiming
  #subscription: Subscription | undefined
  #taken = 0

  constructor(timing: TestTiming) {
    this.#timing = timing
  }

  get subscription(): Subscription {
    assert(this.#subscription, 'subscribed')
    return this.#subscription
  }

  set subscription(subscription: Subscription) {
    this.#subscription = subscription
  }

  receive(delivery: Delivery): void {
    this.wasEarly ||= this.#subscription === undefined
    this.all.push(delivery)
    this.times.push(this.#timing.now())
  }

  get waiting(): number {
    return this.all.length - this.#taken
  }

  async next(): Promise<Delivery> {
    await this.#timing.eventually(() => this.waiting > 0, 'the next delivery')
    return this.all[this.#taken++]!
  }

  async take(count: number): Promise<Delivery[]> {
    await this.#timing.eventually(() => this.waiting >= count, `${count} deliveries`)
    const taken = this.all.slice(this.#taken, this.#taken + count)
    this.#taken += count
    return taken
  }

  /** Asserts that no more deliveries arrive. */
  async assertEmpty(why: string): Promise<void> {
    await this.#timing.quiet()
    assert.deepEqual(this.all.slice(this.#taken).map(idOf), [], why)
  }

  /** Asserts that the next deliveries carry these events, in any order. */
  async assertNext(events: readonly LazaretEvent[], why?: string): Promise<Delivery[]> {
    const deliveries = await this.take(events.length)
    assert.deepEqual(idsOf(deliveries).sort(), sortedIds(events), why)
    return deliveries
  }

  /** Asserts that the next delivery carries this event. */
  async assertNextIs(event: LazaretEvent | undefined, why?: string): Promise<Delivery> {
    const delivery = await this.next()
    assert.equal(idOf(delivery), event?.id, why)
    return delivery
  }

  /** The same, and settles it as done. */
  async doneNext(event: LazaretEvent | undefined, why?: string): Promise<void> {
    await this.done(await this.assertNextIs(event, why))
  }

  async begin(delivery: Delivery, ended: readonly AttemptRecord[] = []): Promise<void> {
    await this.subscription.begin(delivery, ended)
  }

  async done(...deliveries: readonly Delivery[]): Promise<void> {
    for (const delivery of deliveries) await this.subscription.settle(delivery, { outcome: 'done' })
  }

  async retry(delivery: Delivery, notBefore = 0, ended: readonly AttemptRecord[] = []): Promise<void> {
    await this.subscription.settle(delivery, { outcome: 'retry', notBefore, ended })
  }

  async release(delivery: Delivery, notBefore = 0): Promise<void> {
    await this.subscription.settle(delivery, { outcome: 'release', notBefore })
  }
}

export function eventOf(delivery: Delivery): LazaretEvent {
  assert('id' in delivery.content, 'the delivery carries an event')
  return delivery.content
}

export function idOf(delivery: Delivery): string {
  return 'id' in delivery.content ? delivery.content.id : 'undecodable'
}

export function idsOf(deliveries: readonly Delivery[]): string[] {
  return deliveries.map(idOf)
}

/** The attempts of a delivery: how many were started, how many ended, and the history. */
export function counts({ started, ended, history }: Delivery) {
  return [started, ended, [...history]]
}
