import { StallReporter } from '../../../adapter-kit/delivery/stalls.ts'
import { subscribeRules } from '../../../adapter-kit/delivery/subscribe-options.ts'
import { PollLoop } from '../../../adapter-kit/poll-loop.ts'
import { requireChannels } from '../../../core/event/channel.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { replayOf, sendingOf, withoutForeignReplay } from '../../../core/event/replay-headers.ts'
import { OptionsError } from '../../../core/options/faults.ts'
import {
  type Broker,
  type BrokerCapabilities,
  BrokerClosedError,
  BrokerFullError,
  type Delivery,
  type SubscribeOptions,
  type Subscription,
  type SubscriptionStatus,
} from '../../../ports/broker.ts'
import { yieldToEventLoop } from '../../../ports/clock.ts'
import type { EventCodec } from '../../../ports/codec.ts'
import type { Connection } from '../connection/connection.ts'
import type { SqliteSettings } from '../options.ts'
import type { EventRows } from './broker-tables.ts'
import { Settler } from './settler.ts'
import { SqliteSubscription } from './subscription.ts'

/**
 * The number of events that are encoded in one turn of the event loop, so that a large publish does not block the
 * process.
 */
const WRITTEN_PER_TURN = 128
const MIN_POLL_MS = 5

const resolveSubscribe = subscribeRules({ keyOrder: true })

const CAPABILITIES: BrokerCapabilities = Object.freeze({
  delay: true,
  keyOrder: true,
  deadLetters: true,
  durable: true,
})

/**
 * A broker in a database file, for any number of processes on one machine. A handler gets all events that are published
 * after its first subscription. Events from before the first handler of a channel go to that handler.
 */
export class SqliteBroker implements Broker {
  readonly name: string
  readonly kind = 'sqlite'
  readonly capabilities = CAPABILITIES
  readonly #connection: Connection
  readonly #settings: SqliteSettings
  readonly #settler: Settler
  /** Events of this process arrive with the answers of the thread. Events of other processes are found by polling. */
  readonly #rounds: PollLoop
  readonly #subscriptions = new Map<SqliteSubscription, SubscribeOptions>()
  readonly #stopListening: () => void
  #owner: Promise<number> | undefined
  #failedPolls = 0
  #closing: Promise<void> | undefined

  constructor(connection: Connection, settings: SqliteSettings) {
    const { name, clock, codec, leaseMs, maxPollMs } = settings
    this.name = name
    this.#connection = connection.use()
    this.#settings = settings
    this.#settler = new Settler(connection, codec.letters)
    this.#rounds = new PollLoop({
      clock,
      minPollMs: MIN_POLL_MS,
      maxPollMs,
      heartbeatMs: leaseMs / 3,
      poll: () => this.#poll(),
      heartbeat: () => this.#beat(),
    })
    this.#stopListening = connection.onDue(dueAt => {
      if (dueAt !== undefined) this.#rounds.wakeIn(dueAt - connection.steadyNow())
    })
  }

  /** The number of events that the handler has not finished: ready, open, waiting for a retry or blocked by their key. */
  async depth(channel: string, handler: string): Promise<number> {
    this.#requireOpen()
    return this.#connection.read('broker', 'depth', channel, handler)
  }

  async publish(events: readonly LazaretEvent[]): Promise<void> {
    this.#requireOpen()
    requireChannels(events)
    const { maxPerChannel, codec } = this.#settings
    const published: Promise<string | undefined>[] = []
    for (let at = 0; at < events.length; at += WRITTEN_PER_TURN) {
      if (at > 0) await yieldToEventLoop()
      const rows = eventRows(events.slice(at, at + WRITTEN_PER_TURN), codec.events)
      published.push(this.#connection.write('broker', 'publish', rows, maxPerChannel))
    }
    for (const full of await Promise.all(published))
      if (full !== undefined) throw new BrokerFullError(this.name, full, maxPerChannel)
  }

  async subscribe(
    options: SubscribeOptions,
    deliver: (delivery: Delivery) => void,
    onStatus?: (status: SubscriptionStatus) => void,
  ): Promise<Subscription> {
    this.#requireOpen()
    const resolved = resolveSubscribe(options)
    this.#owner ??= this.#register()
    const id = await this.#enter(resolved)
    const subscription: SqliteSubscription = new SqliteSubscription({
      broker: this.name,
      channel: resolved.channel,
      connection: this.#connection,
      settler: this.#settler,
      codec: this.#settings.codec.events,
      deliver,
      stalls: new StallReporter(onStatus),
      onClosed: () => {
        this.#subscriptions.delete(subscription)
        if (this.#subscriptions.size === 0) this.#rounds.stop()
      },
    })
    this.#subscriptions.set(subscription, resolved)
    subscription.enter(id)
    this.#rounds.start()
    // Deliveries start in the next turn. By then the caller has the subscription that it needs for settling.
    void yieldToEventLoop().then(() => subscription.start())
    return subscription
  }

  async unblockKey(channel: string, eventId: string, handler?: string): Promise<void> {
    this.#requireOpen()
    await this.#connection.write('broker', 'unblockKey', channel, eventId, handler)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  #register(): Promise<number> {
    const registered = this.#connection.write('broker', 'register', this.#settings.leaseMs)
    registered.catch(() => {
      this.#owner = undefined
    })
    return registered
  }

  async #enter({ channel, handler, prefetch, ordering }: SubscribeOptions): Promise<number> {
    const owner = await this.#owner!
    const isByKey = ordering === 'by-key'
    const answer = await this.#connection.write(
      'broker',
      'subscribe',
      owner,
      channel,
      handler,
      isByKey,
      prefetch,
    )
    if ('subscription' in answer) return answer.subscription
    const remedy = `give '${answer.orderedAs}', the ordering with which handler ${handler} was registered, or another handler name`
    throw new OptionsError('subscribe', [{ path: 'subscribe.ordering', received: `'${ordering}'`, remedy }])
  }

  /** A file that fails every poll is reported to the subscribers. One failure may be a lock that another process holds for long. */
  async #poll(): Promise<void> {
    try {
      if (await this.#connection.write('broker', 'poll')) this.#rounds.resetBackoff()
    } catch (error) {
      if (++this.#failedPolls > 1)
        for (const subscription of this.#subscriptions.keys()) subscription.stalled(error as Error)
      return
    }
    const wasStalled = this.#failedPolls > 1
    this.#failedPolls = 0
    if (!wasStalled) return
    for (const subscription of this.#subscriptions.keys()) subscription.recovered()
    // The lease may be lost, and deliveries that could not be given back wait for the next heartbeat.
    await this.#beat()
  }

  async #beat(): Promise<void> {
    const owner = await this.#owner!
    const current = await this.#connection.write('broker', 'beat', owner)
    if (current === undefined) await this.#startOver(owner)
    else this.#owner = Promise.resolve(current)
    await this.#settler.retryGivingBack()
  }

  /** The thread died, and its replacement has no subscriptions. Open deliveries are returned. */
  async #startOver(owner: number): Promise<void> {
    await this.#connection.write('broker', 'resign', owner)
    this.#owner = this.#register()
    for (const [subscription, options] of this.#subscriptions) subscription.enter(await this.#enter(options))
  }

  async #close(): Promise<void> {
    await Promise.all(Array.from(this.#subscriptions.keys(), subscription => subscription.close()))
    this.#rounds.stop()
    this.#stopListening()
    const owner = await this.#owner?.catch(() => undefined)
    // If this fails, the lease of the owner expires.
    if (owner !== undefined) await this.#connection.write('broker', 'resign', owner).catch(() => {})
    await this.#connection.leave()
  }

  #requireOpen(): void {
    if (this.#closing !== undefined) throw new BrokerClosedError(this.name)
  }
}

function eventRows(events: readonly LazaretEvent[], codec: EventCodec): EventRows {
  return events.flatMap(given => {
    const event = withoutForeignReplay(given)
    const { channel, id, key = null } = event
    return [channel, id, key, codec.encode(event), sendingOf(event) ?? null, replayOf(event)?.handler ?? null]
  })
}
