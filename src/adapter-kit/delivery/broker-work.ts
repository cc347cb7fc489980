import { requireChannels } from '../../core/event/channel.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import { withoutForeignReplays } from '../../core/event/replay-headers.ts'
import { BrokerClosedError, type Subscription } from '../../ports/broker.ts'
import { type Clock, settlesWithin } from '../../ports/clock.ts'
import { PendingWork } from '../pending-work.ts'

/** The time that closing waits for publishes in progress. */
const CLOSE_MS = 5_000

/** A subscription whose broker opens it first. Its events come after `start`, when the caller knows the subscription. */
export interface OpeningSubscription extends Subscription {
  open(): Promise<void>
  start(): void
}

/** What a broker has begun: its publishes and its subscriptions. Nothing begins after `close`. */
export class BrokerWork {
  readonly #broker: string
  readonly #clock: Clock
  readonly #publishes = new PendingWork()
  readonly #subscriptions = new Set<Subscription>()
  #closing: Promise<void> | undefined

  /** The broker's name is for the error after `close`. */
  constructor(broker: string, clock: Clock) {
    this.#broker = broker
    this.#clock = clock
  }

  /** Throws `BrokerClosedError` after `close`. */
  requireOpen(): void {
    if (this.#closing !== undefined) throw new BrokerClosedError(this.#broker)
  }

  /**
   * Runs a publish that closing waits for. It checks the channels first, and `send` gets the events without the replay
   * headers of other events. Throws `BrokerClosedError` after `close`.
   */
  async publish(
    events: readonly LazaretEvent[],
    send: (events: readonly LazaretEvent[]) => Promise<unknown>,
  ): Promise<void> {
    this.requireOpen()
    requireChannels(events)
    this.#publishes.begin()
    try {
      await send(withoutForeignReplays(events))
    } finally {
      this.#publishes.end()
    }
  }

  /** Opens and starts a subscription. One that cannot be opened, or whose broker is closed meanwhile, is closed again. */
  async subscribe(subscription: OpeningSubscription): Promise<Subscription> {
    this.#subscriptions.add(subscription)
    try {
      await subscription.open()
      this.requireOpen()
    } catch (error) {
      await subscription.close()
      throw error
    }
    subscription.start()
    return subscription
  }

  /** A subscription that is closed says so. */
  forget(subscription: Subscription): void {
    this.#subscriptions.delete(subscription)
  }

  /** Closes the subscriptions, waits for publishes, then disconnects. Later calls return the same promise. */
  close(disconnect: () => Promise<unknown>): Promise<void> {
    this.#closing ??= this.#close(disconnect)
    return this.#closing
  }

  async #close(disconnect: () => Promise<unknown>): Promise<void> {
    await Promise.all(Array.from(this.#subscriptions, subscription => subscription.close()))
    await settlesWithin(this.#clock, CLOSE_MS, this.#publishes.settled())
    await disconnect()
  }
}
