import type { AttemptRecord } from '../../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { OptionsError } from '../../../core/options/faults.ts'
import { resolveOptions } from '../../../core/options/resolve.ts'
import { integer, oneOf, text } from '../../../core/options/rules.ts'
import {
  type Broker,
  type BrokerCapabilities,
  BrokerClosedError,
  BrokerFullError,
  type Delivery,
  DeliveryLostError,
  type Settlement,
  type SubscribeOptions,
  type Subscription,
} from '../../../ports/broker.ts'
import { nextTurn } from '../../../ports/clock.ts'
import type { Codec } from '../../../ports/codec.ts'
import type { OpenDelivery } from '../connection/calls.ts'
import type { Connection, DeliveryRow } from '../connection/connection.ts'
import { SqliteDelivery } from './delivery.ts'
import { eventRows } from './event-rows.ts'
import { Rounds } from './rounds.ts'
import { Settler } from './settler.ts'
import { type Counter, SqliteSubscription } from './subscription.ts'

/** Events written in one turn of the event loop: a large publish must not hold up everything else. */
const WRITTEN_PER_TURN = 128
const MIN_POLL_MS = 5

interface BrokerSettings {
  readonly name: string
  readonly codec: Codec
  readonly leaseMs: number
  readonly maxPollMs: number
  readonly maxPerChannel: number
}

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

/**
 * A broker in a database file, for one machine: any number of processes share the work. Which events a handler gets: all
 * that are published from its first subscription on; what was published before any handler of the channel existed goes
 * to the first one.
 */
export class SqliteBroker implements Broker, Counter {
  readonly name: string
  readonly capabilities = CAPABILITIES
  readonly #connection: Connection
  readonly #settings: BrokerSettings
  readonly #settler: Settler
  readonly #rounds: Rounds
  readonly #subscriptions = new Map<SqliteSubscription, SubscribeOptions>()
  readonly #stopListening: () => void
  #owner: Promise<number> | undefined
  /** What could not be given back yet. */
  #strays: OpenDelivery[] = []
  #closing: Promise<void> | undefined

  constructor(connection: Connection, settings: BrokerSettings) {
    const { name, codec, leaseMs, maxPollMs } = settings
    const { clock } = connection.options
    this.name = name
    this.#connection = connection
    this.#settings = settings
    this.#settler = new Settler(connection, codec.letters)
    this.#rounds = new Rounds({
      clock,
      steadyNow: connection.steadyNow,
      minPollMs: Math.min(MIN_POLL_MS, maxPollMs),
      maxPollMs,
      beatMs: leaseMs / 3,
      poll: () => connection.writer.call('poll'),
      beat: () => this.#beat(),
    })
    this.#stopListening = connection.onDue(dueAt => this.#rounds.wakeAt(dueAt))
  }

  /** How many events the handler has not finished with: ready, open, waiting for a retry or behind their key. */
  async depth(channel: string, handler: string): Promise<number> {
    this.#requireOpen()
    return this.#connection.read('depth', channel, handler)
  }

  async publish(events: readonly LazaretEvent[]): Promise<void> {
    this.#requireOpen()
    const { maxPerChannel, codec } = this.#settings
    const published: Promise<string | undefined>[] = []
    for (let at = 0; at < events.length; at += WRITTEN_PER_TURN) {
      if (at > 0) await nextTurn()
      const rows = eventRows(events.slice(at, at + WRITTEN_PER_TURN), codec.events)
      published.push(this.#connection.writer.call('publish', rows, maxPerChannel))
    }
    for (const full of await Promise.all(published))
      if (full !== undefined) throw new BrokerFullError(this.name, full, maxPerChannel)
  }

  async subscribe(options: SubscribeOptions, deliver: (delivery: Delivery) => void): Promise<Subscription> {
    this.#requireOpen()
    const resolved = resolveOptions('subscribe', subscribeRules, options)
    this.#owner ??= this.#register()
    const id = await this.#enter(resolved)
    const subscription = new SqliteSubscription(id, resolved.channel, this, deliver)
    this.#subscriptions.set(subscription, resolved)
    this.#connection.onDelivery(id, row => subscription.take(row))
    this.#rounds.start()
    // By the next turn the caller has what this returns; a delivery before that could not be settled.
    void nextTurn().then(() => subscription.start())
    return subscription
  }

  async letGo(channel: string, eventId: string, handler?: string): Promise<void> {
    this.#requireOpen()
    await this.#connection.writer.call('letGo', channel, eventId, handler)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  read(channel: string, row: DeliveryRow): SqliteDelivery {
    return new SqliteDelivery(
      { broker: this.name, queue: channel },
      channel,
      row,
      this.#settings.codec.events,
    )
  }

  begin(delivery: SqliteDelivery, ended: readonly AttemptRecord[]): Promise<boolean> {
    return this.#settler.begin(delivery, ended)
  }

  settle(delivery: SqliteDelivery, settlement: Settlement): Promise<boolean> {
    return this.#settler.settle(delivery, settlement)
  }

  async giveBack(deliveries: readonly OpenDelivery[]): Promise<void> {
    if (deliveries.length === 0) return
    await this.#connection.writer.call('giveBack', deliveries).catch(() => {
      this.#strays.push(...deliveries)
    })
  }

  setFlow(subscription: number, isOn: boolean): void {
    this.#connection.writer.call('setFlow', subscription, isOn).catch(() => {})
  }

  async unsubscribe(subscription: number): Promise<void> {
    await this.#connection.writer.call('unsubscribe', subscription).catch(() => {})
    this.#connection.offDelivery(subscription)
  }

  left(subscription: SqliteSubscription): void {
    this.#subscriptions.delete(subscription)
    if (this.#subscriptions.size === 0) this.#rounds.stop()
  }

  lost(channel: string): DeliveryLostError {
    return new DeliveryLostError(this.name, channel)
  }

  #register(): Promise<number> {
    const registered = this.#connection.writer.call('register', this.#settings.leaseMs)
    registered.catch(() => {
      this.#owner = undefined
    })
    return registered
  }

  async #enter({ channel, handler, prefetch, ordering }: SubscribeOptions): Promise<number> {
    const owner = await this.#owner!
    const isByKey = ordering === 'by-key'
    const answer = await this.#connection.writer.call('subscribe', owner, channel, handler, isByKey, prefetch)
    if ('orderedAs' in answer) throw orderedOtherwise(answer.orderedAs, ordering, handler)
    return answer.subscription
  }

  async #beat(): Promise<void> {
    const owner = await this.#owner!
    const current = await this.#connection.writer.call('beat', owner)
    if (current === undefined) await this.#startOver(owner)
    else this.#owner = Promise.resolve(current)
    await this.giveBack(this.#strays.splice(0))
  }

  /** The thread died, and the one in its place knows of no subscriptions. What was open is given back. */
  async #startOver(owner: number): Promise<void> {
    await this.#connection.writer.call('resign', owner)
    this.#owner = this.#register()
    for (const [subscription, options] of this.#subscriptions) {
      const id = await this.#enter(options)
      this.#connection.onDelivery(id, row => subscription.take(row))
      subscription.moveTo(id)
    }
  }

  async #close(): Promise<void> {
    await Promise.all(Array.from(this.#subscriptions.keys(), subscription => subscription.close()))
    this.#rounds.stop()
    this.#stopListening()
    const owner = await this.#owner?.catch(() => undefined)
    // If it cannot be told, the lease runs out.
    if (owner !== undefined) await this.#connection.writer.call('resign', owner).catch(() => {})
    await this.#connection.leave()
  }

  #requireOpen(): void {
    if (this.#closing !== undefined) throw new BrokerClosedError(this.name)
  }
}

function orderedOtherwise(orderedAs: string, ordering: string, handler: string): OptionsError {
  const remedy = `give '${orderedAs}', which handler ${handler} began with, or another handler name`
  return new OptionsError('subscribe', [{ path: 'subscribe.ordering', received: `'${ordering}'`, remedy }])
}
