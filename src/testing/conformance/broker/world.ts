import assert from 'node:assert/strict'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import type { Broker, Delivery, SubscribeOptions, Subscription } from '../../../ports/broker.ts'
import { freshFactory, TestTiming, type Timing, uniqueName } from '../harness.ts'

/** What an adapter gives the suite for each test: a broker of its own, and ways to look behind it. */
export interface BrokerFixture extends Timing {
  readonly broker: Broker
  /** Opens another broker on the same data, after the first was closed. For durable ones. */
  reopen?(): Promise<Broker>
  /** Sends bytes to a channel that are not an event. */
  publishRaw?(channel: string, raw: Uint8Array): Promise<void>
  /** The letters that the broker itself keeps for a channel. */
  keptLetters?(channel: string): Promise<readonly DeadLetter[]>
  cleanup?(): Promise<void>
}

/** One test's view of a broker: a channel and a handler nobody else uses, and everything that arrives. */
export class World {
  readonly timing: TestTiming
  readonly make: ReturnType<typeof freshFactory>
  readonly channel = uniqueName('conformance')
  readonly fixture: BrokerFixture
  broker: Broker

  constructor(fixture: BrokerFixture) {
    this.fixture = fixture
    this.broker = fixture.broker
    this.timing = new TestTiming(fixture)
    this.make = freshFactory(this.timing)
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

  /** Lets a handler be known to the channel, so that it gets what is published from now on. */
  async registerHandler(options: Partial<SubscribeOptions> = {}): Promise<void> {
    await (await this.subscribe(options)).subscription.close()
  }

  async reopen(): Promise<void> {
    await this.broker.close()
    assert(this.fixture.reopen, 'a durable broker needs `reopen` in its fixture')
    this.broker = await this.fixture.reopen()
  }

  letterOf(delivery: Delivery): DeadLetter {
    return this.make.letter({ event: eventOf(delivery), channel: this.channel })
  }

  /** Settles it as dead, its letter saved elsewhere. */
  async settleAsDead({ subscription }: Inbox, delivery: Delivery): Promise<void> {
    await subscription.settle(delivery, { outcome: 'dead', letter: this.letterOf(delivery), saved: true })
  }
}

/** What a subscription has received. Deliveries are taken out in the order of arrival. */
export class Inbox {
  readonly all: Delivery[] = []
  /** When each arrived, by the adapter's clock. */
  readonly times: number[] = []
  /** Whether something arrived before its subscription was there to settle it. */
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

  /** Nothing has arrived beyond what was taken, and nothing does. */
  async assertEmpty(why: string): Promise<void> {
    await this.#timing.quiet()
    assert.deepEqual(this.all.slice(this.#taken).map(idOf), [], why)
  }

  async done(...deliveries: readonly Delivery[]): Promise<void> {
    for (const delivery of deliveries) await this.subscription.settle(delivery, { outcome: 'done' })
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
