import type { AttemptRecord } from '../../../core/dead-letter/letter.ts'
import { createEvent, type EventInput, type LazaretEvent } from '../../../core/event/event.ts'
import { createIdSource, type IdSource } from '../../../core/event/uuid.ts'
import { resolveOptions } from '../../../core/options/resolve.ts'
import { integer, oneOf, text } from '../../../core/options/rules.ts'
import type {
  Broker,
  BrokerCapabilities,
  Delivery,
  Settlement,
  SubscribeOptions,
  Subscription,
} from '../../../ports/broker.ts'
import { BrokerClosedError, DeliveryLostError } from '../../../ports/broker-errors.ts'
import { nextTurn } from '../../../ports/system-clock.ts'
import type { PgQueryable } from '../client.ts'
import { LetterTable } from '../letters/letter-table.ts'
import type { PostgresSettings } from '../options.ts'
import { requireSchema } from '../schema/migrate.ts'
import { holdable } from '../text.ts'
import { adopt, countDepth, enterHandler, letEventGo } from './channels.ts'
import { Claimer } from './claimer.ts'
import type { ClaimFor } from './claiming.ts'
import type { OutboxDelivery } from './delivery.ts'
import { Holdings } from './holdings.ts'
import { Listener } from './listener.ts'
import { Notices } from './notices.ts'
import { Owner } from './owner.ts'
import { Rounds } from './rounds.ts'
import { Settler } from './settler.ts'
import { type Counter, OutboxSubscription } from './subscription.ts'
import { writeEvents } from './writing.ts'

const subscribeRules = {
  channel: text(),
  handler: text(),
  prefetch: integer({ min: 1 }),
  ordering: oneOf('none', 'by-key'),
}

const CAPABILITIES: BrokerCapabilities = Object.freeze({
  delay: true,
  keyOrder: true,
  deadLetters: true,
  durable: true,
})

export interface EnqueueOptions {
  /** Consumers of a lower generation leave the events alone [0]. */
  readonly generation?: number | undefined
}

/**
 * The outbox as a broker. Events are rows of a table, so that they can be written in the transaction of what they tell
 * of. Any number of processes share the work. Which events a handler gets: all that are enqueued from its first
 * subscription on; what was enqueued before any handler of the channel existed goes to the first one.
 */
export class PostgresOutbox implements Broker, Counter {
  readonly name: string
  readonly capabilities = CAPABILITIES
  readonly #settings: PostgresSettings
  readonly #newId: IdSource
  readonly #owner: Owner
  readonly #holdings: Holdings
  readonly #claimer: Claimer
  readonly #settler: Settler
  readonly #notices: Notices
  readonly #listener: Listener
  readonly #rounds: Rounds
  readonly #subscriptions = new Set<OutboxSubscription>()
  #ready: Promise<void> | undefined
  #closing: Promise<void> | undefined

  constructor(settings: PostgresSettings) {
    const { pool, name, clock, random, codec, leaseMs, maxPollMs, maxLetters, delivered, notify } = settings
    this.name = name
    this.#settings = settings
    this.#newId = createIdSource(random)
    this.#owner = new Owner(pool, leaseMs)
    const letters = new LetterTable(name, codec.letters, maxLetters)
    this.#holdings = new Holdings(held => this.#owner.giveBackOthers(held))
    this.#settler = new Settler({
      pool,
      owner: this.#owner,
      holdings: this.#holdings,
      letters,
      clock,
      delivered,
    })
    this.#claimer = new Claimer({
      pool,
      owner: this.#owner,
      holdings: this.#holdings,
      broker: name,
      codec: codec.events,
      wakeIn: delayMs => this.#rounds.wakeIn(delayMs),
    })
    this.#notices = new Notices(pool, clock, notify)
    this.#listener = new Listener(pool, channel => this.#wakeChannel(channel))
    this.#rounds = new Rounds({
      clock,
      maxPollMs,
      beatMs: leaseMs / 3,
      poll: () => this.#poll(),
      beat: () => this.#beat(),
    })
  }

  /** Resolves when the schema is there and of this version; rejects with what is wrong with it. */
  ready(): Promise<void> {
    this.#ready ??= requireSchema(this.#settings.pool).catch((error: unknown) => {
      this.#ready = undefined
      throw error
    })
    return this.#ready
  }

  /**
   * Writes events in the caller's transaction: they are there when it commits, and never were when it does not. What
   * cannot be held is refused before anything is asked of the server, so that the transaction can go on.
   */
  enqueue(tx: PgQueryable, event: EventInput, options?: EnqueueOptions): Promise<LazaretEvent>
  enqueue(
    tx: PgQueryable,
    events: readonly EventInput[],
    options?: EnqueueOptions,
  ): Promise<readonly LazaretEvent[]>
  async enqueue(
    tx: PgQueryable,
    input: EventInput | readonly EventInput[],
    { generation = 0 }: EnqueueOptions = {},
  ): Promise<LazaretEvent | readonly LazaretEvent[]> {
    this.#requireOpen()
    const inputs = Array.isArray(input) ? (input as readonly EventInput[]) : [input as EventInput]
    const { clock, limits, codec } = this.#settings
    const sources = { now: clock.now(), newId: this.#newId, limits }
    const events = inputs.map(each => createEvent(each, sources))
    const told = this.#notices.of(channelsOf(events))
    if (events.length > 0) await writeEvents(tx, 'enqueue', { events, generation, told }, codec.events)
    return Array.isArray(input) ? events : events[0]!
  }

  async publish(events: readonly LazaretEvent[]): Promise<void> {
    this.#requireOpen()
    if (events.length === 0) return
    const { pool, codec } = this.#settings
    const told = this.#notices.of(channelsOf(events))
    await writeEvents(pool, 'publish', { events, generation: 0, told }, codec.events)
    for (const channel of channelsOf(events)) this.#wakeChannel(channel)
  }

  async subscribe(options: SubscribeOptions, deliver: (delivery: Delivery) => void): Promise<Subscription> {
    this.#requireOpen()
    const { prefetch, ordering, ...wanted } = resolveOptions('subscribe', subscribeRules, options)
    const [channel, handler] = [holdable(wanted.channel), holdable(wanted.handler)]
    const { pool, generation, listen } = this.#settings
    await this.ready()
    const claimFor = { channel, handler, isByKey: ordering === 'by-key', generation }
    await enterHandler(pool, claimFor)
    await this.#owner.id()
    // Without it polling finds what there is.
    if (listen) await this.#listener.start().catch(() => {})
    this.#requireOpen()
    const subscription = new OutboxSubscription(claimFor, prefetch, this, deliver)
    this.#subscriptions.add(subscription)
    this.#rounds.start()
    // By the next turn the caller has what this returns; a delivery before that could not be settled.
    void nextTurn().then(() => subscription.start())
    return subscription
  }

  async letGo(channel: string, eventId: string): Promise<void> {
    this.#requireOpen()
    if (!(await letEventGo(this.#settings.pool, channel, eventId))) return
    this.#wakeChannel(channel)
    await this.#notices.tell(channel)
  }

  /** How many events the handler has not finished with: ready, open, waiting for a retry or behind their key. */
  async depth(channel: string, handler: string): Promise<number> {
    this.#requireOpen()
    return countDepth(this.#settings.pool, channel, handler)
  }

  /** The pool stays open: it is the caller's. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async claim(claimFor: ClaimFor, limit: number): Promise<readonly OutboxDelivery[]> {
    const deliveries = await this.#claimer.claim(claimFor, limit)
    if (deliveries.length > 0) this.#rounds.hurry()
    return deliveries
  }

  async ranDry(claimFor: ClaimFor): Promise<void> {
    const { pool } = this.#settings
    const { isAlive, dueInMs } = await this.#claimer.lookAhead(claimFor)
    if (!isAlive) await this.#owner.beat()
    if (dueInMs !== null) this.#rounds.wakeIn(dueInMs)
    if (await adopt(pool, claimFor.channel)) this.#wakeChannel(claimFor.channel)
  }

  begin(delivery: OutboxDelivery, ended: readonly AttemptRecord[]): Promise<boolean> {
    return this.#settler.begin(delivery, ended)
  }

  async settle(delivery: OutboxDelivery, settlement: Settlement): Promise<boolean> {
    const isSettled = await this.#settler.settle(delivery, settlement)
    if (settlement.outcome === 'retry' || settlement.outcome === 'release')
      this.#rounds.wakeIn(settlement.notBefore - this.#settings.clock.now())
    return isSettled
  }

  async giveBack(deliveries: readonly OutboxDelivery[]): Promise<void> {
    await Promise.all(deliveries.map(delivery => this.#settler.giveBack(delivery)))
    for (const channel of new Set(deliveries.map(each => each.channel))) {
      this.#wakeChannel(channel)
      await this.#notices.tell(channel).catch(() => {})
    }
  }

  async takeBack(delivery: OutboxDelivery): Promise<void> {
    await this.#settler.giveBack(delivery, delivery.attemptsTakenBack)
  }

  wake({ channel, handler }: ClaimFor): void {
    for (const each of this.#subscriptions)
      if (each.claimFor.channel === channel && each.claimFor.handler === handler) each.wake()
  }

  left(subscription: OutboxSubscription): void {
    this.#subscriptions.delete(subscription)
    if (this.#subscriptions.size === 0) this.#rounds.stop()
  }

  lost(channel: string): DeliveryLostError {
    return new DeliveryLostError(this.name, channel)
  }

  #wakeChannel(channel: string): void {
    for (const each of this.#subscriptions) if (each.claimFor.channel === channel) each.wake()
  }

  #poll(): void {
    for (const subscription of this.#subscriptions) subscription.wake()
  }

  async #beat(): Promise<void> {
    await this.#owner.beat()
    await this.#holdings.check()
    if ((await this.#owner.reclaim()) > 0) this.#poll()
    if (this.#settings.listen) await this.#listener.start()
  }

  async #close(): Promise<void> {
    await Promise.all(Array.from(this.#subscriptions, subscription => subscription.close()))
    await this.#rounds.end()
    this.#notices.stop()
    await this.#listener.stop()
    await this.#owner.resign()
  }

  #requireOpen(): void {
    if (this.#closing !== undefined) throw new BrokerClosedError(this.name)
  }
}

function channelsOf(events: readonly LazaretEvent[]): Set<string> {
  return new Set(events.map(({ channel }) => channel))
}
