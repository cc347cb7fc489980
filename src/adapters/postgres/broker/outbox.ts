import { subscribeRules } from '../../../adapter-kit/delivery/subscribe-options.ts'
import { requireChannels } from '../../../core/event/channel.ts'
import { createEvent, type EventInput, type LazaretEvent } from '../../../core/event/event.ts'
import { withoutForeignReplay, withoutForeignReplays } from '../../../core/event/replay-headers.ts'
import { createIdSource, type IdSource } from '../../../core/event/uuid.ts'
import { OptionsError } from '../../../core/options/faults.ts'
import { resolveOptions } from '../../../core/options/resolve.ts'
import { integer, withDefault } from '../../../core/options/rules.ts'
import { show } from '../../../core/options/show.ts'
import {
  type Broker,
  type BrokerCapabilities,
  BrokerClosedError,
  type Delivery,
  type SubscribeOptions,
  type Subscription,
  type SubscriptionStatus,
} from '../../../ports/broker.ts'
import { publishInSpan } from '../../../ports/tracing.ts'
import { isPgQueryable, type PgQueryable } from '../connection/client.ts'
import { ListenConnection } from '../connection/listen-connection.ts'
import { Notifier } from '../connection/notifier.ts'
import type { PostgresSettings } from '../options.ts'
import { requireSchema } from '../schema/migrate.ts'
import { countDepth, unblockKey } from './handlers.ts'
import { publishEvents, writeEvents } from './publish.ts'
import { removeDelivered } from './retention.ts'
import { Subscriptions } from './subscriptions.ts'

const resolveSubscribe = subscribeRules({ keyOrder: true })
const enqueueRules = { generation: withDefault(integer({ min: 0 }), 0) }

const CAPABILITIES: BrokerCapabilities = Object.freeze({
  delay: true,
  keyOrder: true,
  deadLetters: true,
  durable: true,
})

/** Options of enqueueing events in the outbox. */
export interface EnqueueOptions {
  /** Consumers of a lower generation leave the events alone [0]. */
  readonly generation?: number | undefined
}

/**
 * The outbox as a broker. Events are rows of a table, so that a service can write them in the transaction of the changes
 * they describe. Any number of processes share the work. A handler gets all events that are enqueued after its first
 * subscription. Events from before a channel had any handler go to its first one.
 */
export class PostgresOutbox implements Broker {
  readonly name: string
  readonly kind = 'postgres'
  readonly capabilities = CAPABILITIES
  readonly retryPreset = 'outbox'
  readonly #settings: PostgresSettings
  readonly #newId: IdSource
  readonly #notifier: Notifier
  readonly #subscriptions: Subscriptions
  #ready: Promise<void> | undefined
  #closing: Promise<void> | undefined

  constructor(settings: PostgresSettings, connection: ListenConnection = new ListenConnection(settings)) {
    this.name = settings.name
    this.#settings = settings
    this.#newId = createIdSource(settings.random)
    this.#notifier = new Notifier(settings)
    this.#subscriptions = new Subscriptions(settings, this.#notifier, connection)
  }

  /** Resolves when the schema exists and has this version; otherwise rejects with the problem. */
  ready(): Promise<void> {
    this.#ready ??= requireSchema(this.#settings.pool).catch((error: unknown) => {
      this.#ready = undefined
      throw error
    })
    return this.#ready
  }

  /**
   * Writes events in the caller's transaction: they exist once it commits, and never if it does not. An event that cannot
   * be stored is refused before anything is sent to the server, so that the transaction can go on.
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
    options: EnqueueOptions = {},
  ): Promise<LazaretEvent | readonly LazaretEvent[]> {
    this.#requireOpen()
    if (!isPgQueryable(tx)) throw noTransaction(tx)
    const { generation } = resolveOptions('enqueue', enqueueRules, options)
    const inputs = Array.isArray(input) ? (input as readonly EventInput[]) : [input as EventInput]
    const { clock, limits, codec } = this.#settings
    const sources = { now: clock.now(), newId: this.#newId, limits }
    let events: readonly LazaretEvent[] = inputs.map(each => withoutForeignReplay(createEvent(each, sources)))
    const notified = this.#notifier.due(channelsOf(events))
    const write = (traced: readonly LazaretEvent[]) => {
      events = traced
      return writeEvents(tx, 'enqueue', { events, generation, notified }, codec.events)
    }
    if (events.length > 0) await this.#traced(events, write)
    return Array.isArray(input) ? events : events[0]!
  }

  async publish(events: readonly LazaretEvent[]): Promise<void> {
    this.#requireOpen()
    requireChannels(events)
    if (events.length === 0) return
    const { pool, codec } = this.#settings
    const channels = channelsOf(events)
    const notified = this.#notifier.due(channels)
    await this.#traced(withoutForeignReplays(events), traced =>
      publishEvents(pool, { events: traced, generation: 0, notified }, codec.events),
    )
    for (const channel of channels) this.#subscriptions.wake(channel)
  }

  async subscribe(
    options: SubscribeOptions,
    deliver: (delivery: Delivery) => void,
    onStatus?: (status: SubscriptionStatus) => void,
  ): Promise<Subscription> {
    this.#requireOpen()
    const resolved = resolveSubscribe(options)
    await this.ready()
    return this.#subscriptions.subscribe(resolved, deliver, onStatus)
  }

  async unblockKey(channel: string, eventId: string, handler?: string): Promise<void> {
    this.#requireOpen()
    if (!(await unblockKey(this.#settings.pool, channel, eventId, handler))) return
    this.#subscriptions.wake(channel)
    await this.#notifier.notify(channel)
  }

  /** The number of events that the handler has not finished: ready, open, waiting for a retry or blocked by their key. */
  async depth(channel: string, handler: string): Promise<number> {
    this.#requireOpen()
    return countDepth(this.#settings.pool, channel, handler)
  }

  /**
   * Removes events that were delivered longer ago than that, kept or partitioned, in steps that do not hold up others. It also
   * removes failed rows that were discarded or deleted longer ago than that, once their letters are gone from the
   * database. Answers how many rows there were. With `deliveredRetentionMs` consumers do this by themselves.
   */
  async removeDelivered(olderThanMs: number): Promise<number> {
    this.#requireOpen()
    return removeDelivered(this.#settings.pool, olderThanMs)
  }

  /** The pool stays open: it is the caller's. */
  close(): Promise<void> {
    this.#closing ??= this.#subscriptions.close().finally(() => this.#notifier.stop())
    return this.#closing
  }

  #traced(
    events: readonly LazaretEvent[],
    write: (events: readonly LazaretEvent[]) => Promise<void>,
  ): Promise<void> {
    const { tracing } = this.#settings
    return tracing === undefined ? write(events) : publishInSpan(tracing, this.name, events, write)
  }

  #requireOpen(): void {
    if (this.#closing !== undefined) throw new BrokerClosedError(this.name)
  }
}

function channelsOf(events: readonly LazaretEvent[]): Set<string> {
  return new Set(events.map(({ channel }) => channel))
}

function noTransaction(received: unknown): OptionsError {
  const remedy = 'give the client that your transaction runs on, with query(text, values)'
  return new OptionsError('enqueue', [{ path: 'enqueue.tx', received: show(received), remedy }])
}
