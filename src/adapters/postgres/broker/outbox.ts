import { createEvent, type EventInput, type LazaretEvent } from '../../../core/event/event.ts'
import { withoutForeignReplay, withoutForeignReplays } from '../../../core/event/replay-headers.ts'
import { createIdSource, type IdSource } from '../../../core/event/uuid.ts'
import { OptionsError } from '../../../core/options/faults.ts'
import { resolveOptions } from '../../../core/options/resolve.ts'
import { integer, oneOf, text, withDefault } from '../../../core/options/rules.ts'
import { show } from '../../../core/options/show.ts'
import {
  type Broker,
  type BrokerCapabilities,
  BrokerClosedError,
  type Delivery,
  type SubscribeOptions,
  type Subscription,
  type SubscriptionNews,
} from '../../../ports/broker.ts'
import { nextTurn } from '../../../ports/clock.ts'
import { publishIn } from '../../../ports/tracing.ts'
import { isPgQueryable, type PgQueryable } from '../connection/client.ts'
import { Notices } from '../connection/notifier.ts'
import { holdable } from '../connection/text.ts'
import type { PostgresSettings } from '../options.ts'
import { requireSchema } from '../schema/migrate.ts'
import { countDepth, letEventGo } from './channels.ts'
import { Desk } from './desk.ts'
import { cleanUp } from './past.ts'
import { publishEvents, writeEvents } from './writing.ts'

const subscribeRules = {
  channel: text(),
  handler: text(),
  prefetch: integer({ min: 1 }),
  ordering: oneOf('none', 'by-key'),
}

const enqueueRules = { generation: withDefault(integer({ min: 0 }), 0) }

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
export class PostgresOutbox implements Broker {
  readonly name: string
  readonly capabilities = CAPABILITIES
  readonly #settings: PostgresSettings
  readonly #newId: IdSource
  readonly #notices: Notices
  readonly #desk: Desk
  #ready: Promise<void> | undefined
  #closing: Promise<void> | undefined

  constructor(settings: PostgresSettings) {
    const { pool, name, clock, random, notify } = settings
    this.name = name
    this.#settings = settings
    this.#newId = createIdSource(random)
    this.#notices = new Notices(pool, clock, notify)
    this.#desk = new Desk(settings, this.#notices)
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
    options: EnqueueOptions = {},
  ): Promise<LazaretEvent | readonly LazaretEvent[]> {
    this.#requireOpen()
    if (!isPgQueryable(tx)) throw noTransaction(tx)
    const { generation } = resolveOptions('enqueue', enqueueRules, options)
    const inputs = Array.isArray(input) ? (input as readonly EventInput[]) : [input as EventInput]
    const { clock, limits, codec } = this.#settings
    const sources = { now: clock.now(), newId: this.#newId, limits }
    let events: readonly LazaretEvent[] = inputs.map(each => withoutForeignReplay(createEvent(each, sources)))
    const told = this.#notices.of(channelsOf(events))
    const write = (followed: readonly LazaretEvent[]) => {
      events = followed
      return writeEvents(tx, 'enqueue', { events, generation, told }, codec.events)
    }
    if (events.length > 0) await this.#followed(events, write)
    return Array.isArray(input) ? events : events[0]!
  }

  async publish(events: readonly LazaretEvent[]): Promise<void> {
    this.#requireOpen()
    if (events.length === 0) return
    const { pool, codec } = this.#settings
    const channels = channelsOf(events)
    const told = this.#notices.of(channels)
    await this.#followed(withoutForeignReplays(events), followed =>
      publishEvents(pool, { events: followed, generation: 0, told }, codec.events),
    )
    for (const channel of channels) this.#desk.wakeChannel(channel)
  }

  async subscribe(
    options: SubscribeOptions,
    deliver: (delivery: Delivery) => void,
    tell?: (news: SubscriptionNews) => void,
  ): Promise<Subscription> {
    this.#requireOpen()
    const { channel, handler, prefetch, ordering } = resolveOptions('subscribe', subscribeRules, options)
    await this.ready()
    const claimFor = {
      channel: holdable(channel),
      handler: holdable(handler),
      isByKey: ordering === 'by-key',
      generation: this.#settings.generation,
    }
    const subscription = await this.#desk.subscribe(claimFor, prefetch, deliver, tell)
    // By the next turn the caller has what this returns; a delivery before that could not be settled.
    void nextTurn().then(() => subscription.start())
    return subscription
  }

  async letGo(channel: string, eventId: string, handler?: string): Promise<void> {
    this.#requireOpen()
    if (!(await letEventGo(this.#settings.pool, channel, eventId, handler))) return
    this.#desk.wakeChannel(channel)
    await this.#notices.tell(channel)
  }

  /** How many events the handler has not finished with: ready, open, waiting for a retry or behind their key. */
  async depth(channel: string, handler: string): Promise<number> {
    this.#requireOpen()
    return countDepth(this.#settings.pool, channel, handler)
  }

  /**
   * Removes what was delivered longer ago than that, kept or partitioned away, in steps that hold up nobody. Answers how
   * many rows that were. With `deliveredRetentionMs` consumers do it by themselves.
   */
  async removeDelivered(olderThanMs: number): Promise<number> {
    this.#requireOpen()
    return cleanUp(this.#settings.pool, olderThanMs)
  }

  /** The pool stays open: it is the caller's. */
  close(): Promise<void> {
    this.#closing ??= this.#desk.close().finally(() => this.#notices.stop())
    return this.#closing
  }

  #followed(
    events: readonly LazaretEvent[],
    handOver: (events: readonly LazaretEvent[]) => Promise<void>,
  ): Promise<void> {
    const { tracing } = this.#settings
    return tracing === undefined ? handOver(events) : publishIn(tracing, this.name, events, handOver)
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
