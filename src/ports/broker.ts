import type { AttemptRecord, DeadLetter, Origin } from '../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../core/event/event.ts'
import { LazaretError } from '../core/failure/errors.ts'
import type { UnreadableLetterError } from './dead-letters.ts'

/** The features of a broker. The runtime branches on these and never on the name of a broker. */
export interface BrokerCapabilities {
  /** A retry settled with a time waits in the broker; otherwise the consumer keeps it in process. */
  readonly delay: boolean
  /** The broker can hold the events of a key until an earlier event of that key is resolved. */
  readonly keyOrder: boolean
  /** Has its own dead-letter queue, so a consumer needs no dead-letter store. */
  readonly deadLetters: boolean
  /** Attempt counts and waiting events survive the end of the process. */
  readonly durable: boolean
}

/** A message that cannot be decoded as an event. The broker keeps all its bytes, because it becomes a dead letter too. */
export interface Undecodable {
  readonly raw: Uint8Array
  readonly problem: string
  /** The id that its sender gave it. Brokers whose origin names each message do not need it [none]. */
  readonly messageId?: string | undefined
  /** Its headers, as far as they are text [none]. */
  readonly headers?: LazaretEvent['headers'] | undefined
  /** There if it is sealed with a key that is missing here. A process that has the key can read it, so it stays in the broker [none]. */
  readonly missingKey?: LazaretError | undefined
}

/** One delivery of an event. It is open until it is settled, or until its subscription or process ends. */
export interface Delivery {
  readonly channel: string
  readonly content: LazaretEvent | Undecodable
  /** Attempts begun in this cycle before this delivery. */
  readonly started: number
  /** The number of these attempts that have a recorded end. The difference from `started` is the number of crashes. */
  readonly ended: number
  /** The recorded attempts of this cycle, oldest first; bounded, so it can be shorter than `ended`. */
  readonly history: readonly AttemptRecord[]
  readonly origin: Origin
}

/**
 * The settlement of a delivery.
 * - `done`: it is finished with.
 * - `retry`: hand it over again, not before the time given. Its ended attempts are recorded.
 * - `dead`: it is given up on. `saved` says that the letter is already durable elsewhere; if not, the broker keeps it.
 * - `release`: nothing came of it; hand it over again. It counts as no attempt: a start that was recorded for this
 *   delivery and has not ended is taken back.
 */
export type Settlement =
  | { readonly outcome: 'done' }
  | { readonly outcome: 'retry'; readonly notBefore: number; readonly ended: readonly AttemptRecord[] }
  | { readonly outcome: 'dead'; readonly letter: DeadLetter; readonly saved: boolean }
  | { readonly outcome: 'release'; readonly notBefore: number }

/** The number of messages in a queue, by the name that the broker has for it. */
export interface QueueDepth {
  readonly queue: string
  readonly depth: number
}

/** What a consumer asks of a broker when it subscribes. */
export interface SubscribeOptions {
  /** The channel to take events from. */
  readonly channel: string
  /** The name of the handler. Every handler name receives every event of the channel once. */
  readonly handler: string
  /** The greatest number of open deliveries. */
  readonly prefetch: number
  /**
   * `by-key`: the broker delivers no event of a key while an earlier event of that key is unresolved: in flight,
   * waiting for a retry, or dead. A dead-lettered event is resolved by `unblockKey` or by publishing it again. Needs
   * the capability `keyOrder`.
   */
  readonly ordering: 'none' | 'by-key'
}

/**
 * The part of a subscription that is stalled. `deliveries`: events wait, and the broker delivers none. `settlements`: the
 * broker accepts no retries and releases. `letters`: the broker's own dead-letter queue accepts no letter.
 */
export type StalledPart = 'deliveries' | 'settlements' | 'letters'

/**
 * A report that a subscription stalls, or has recovered: a deleted queue, a full queue or a missing permission stalls it. Or
 * a report of what the retention of the broker removed of events that nobody needs: rows one by one, and whole partitions. Or
 * a report that a replay was settled whose letter the broker keeps and cannot read: the letter stays as it is.
 */
export type SubscriptionStatus =
  | { readonly state: 'stalled'; readonly place: StalledPart; readonly error: Error }
  | { readonly state: 'recovered'; readonly place: StalledPart }
  | { readonly state: 'removed'; readonly rows: number; readonly partitions: number }
  | { readonly state: 'unreadable'; readonly error: UnreadableLetterError }

/**
 * The broker port: publishes to and consumes from channels. At-least-once is the whole promise: a delivery that is not
 * settled is delivered again, to the next subscriber.
 *
 * - `publish` resolves when every event is durable, in the order given; it may be called with many. When it rejects,
 *   some of the events may have been published. Callers publish again, so handlers must be idempotent or use a ledger.
 * - A replay (core/event/replay-headers) that names a handler goes to that handler alone, because another handler would
 *   resolve an event that failed elsewhere. The replay waits until that handler subscribes, even for the first time.
 * - An event that carries the replay headers of another event is published without them, to every handler.
 * - `subscribe` resolves when deliveries can arrive, and none arrives before, because it could not be settled yet. After
 *   its first subscription a handler receives every event, including those published while it is not subscribed.
 *   `deliver` must not throw and must not be called after the subscription's close has resolved.
 * - `onStatus`, if given, receives a report when the subscription stalls: a queue or table was deleted, a permission was
 *   revoked, the dead-letter queue is full. The broker repairs what it can, keeps retrying, and reports the recovery. It
 *   may report the same stall again with another error. A broker that keeps letters reports a replay that it settled although it could
 *   not read its letter (ports/dead-letters, `isLetterFault`). A broker with a retention reports what it removed to one of its
 *   subscriptions. `onStatus` must not throw.
 * - `unblockKey` unblocks the key of a dead-lettered event in an ordered channel: later events of the key are
 *   delivered. With a handler, it does so for that handler only; for another handler of the channel the event may be
 *   dead as well, and still undecided. Unknown ids are ignored. A letter is saved before its event is settled as dead, so a
 *   request can come before that. A broker may remember it until the event is dead or done.
 * - `depth` (optional) counts the events that a handler has not finished: ready, open, waiting for a retry or for their
 *   key. It is 0 for an unknown channel or handler, and rejects when the server does not respond. A broker whose server
 *   cannot count per handler does not implement it.
 * - `deadLetterDepths`, where there is one, counts the messages in the broker's own dead-letter queues of a handler. It
 *   rejects when nobody answers.
 * - `retryPreset` (optional) names the retry defaults of its consumers. A broker declares `outbox` if its events are rows
 *   of the service's own database, where a wait of minutes costs nothing. Without it they are those of a `consumer`.
 * - `kind` (optional) says what the broker is, such as `rabbitmq`. Letters have it beside the name, and a replay does not send
 *   them to a broker of the same name and another kind.
 * - `close` closes every subscription first. Closing twice is safe. Every call after `close` rejects.
 */
export interface Broker {
  readonly name: string
  readonly kind?: string
  readonly capabilities: BrokerCapabilities
  readonly retryPreset?: 'consumer' | 'outbox'
  publish(events: readonly LazaretEvent[]): Promise<void>
  subscribe(
    options: SubscribeOptions,
    deliver: (delivery: Delivery) => void,
    onStatus?: (status: SubscriptionStatus) => void,
  ): Promise<Subscription>
  unblockKey(channel: string, eventId: string, handler?: string): Promise<void>
  depth?(channel: string, handler: string): number | Promise<number>
  deadLetterDepths?(channel: string, handler: string): Promise<readonly QueueDepth[]>
  close(): Promise<void>
}

/**
 * - `begin` records durably that an attempt starts, before the handler runs, so that a crash is counted. `ended` are the
 *   attempts of this delivery that ended in process since the last `begin`. A delivery alone is not an attempt.
 * - `settle` makes the settlement durable and only then acknowledges. A delivery is settled once; when either rejects,
 *   the broker delivers the event again and the consumer drops the delivery.
 * - `settle` does not fail because the letter of a handled replay cannot be read: the event would run again. A failed replay with such
 *   a letter cannot be saved: `settle` rejects, and the event comes again after LETTER_FAULT_DELAY_MS.
 * - Both reject with DeliveryLostError for a delivery that was settled before or that the subscription lost (it closed,
 *   it reconnected, a lease expired).
 * - Both may return nothing instead of a promise when there is nothing to wait for.
 * - `pause` stops new deliveries soon, not at once; open ones stay open. `resume` undoes it. Both are idempotent.
 * - `close` stops deliveries, releases open deliveries, and resolves when no more deliveries can arrive. It waits for
 *   settlements in progress. Closing twice is safe.
 */
export interface Subscription {
  begin(delivery: Delivery, ended: readonly AttemptRecord[]): void | Promise<void>
  settle(delivery: Delivery, settlement: Settlement): void | Promise<void>
  pause(): void
  resume(): void
  close(): Promise<void>
}

/** The broker was used after `close`. */
export class BrokerClosedError extends LazaretError {
  override readonly name = 'BrokerClosedError'

  constructor(broker: string) {
    super(
      `broker '${broker}': closed; use it before close(), or open a new one. A consumer closes its broker unless it has leaveOpen: true`,
      {
        code: 'LAZARET_BROKER_CLOSED',
        retryable: false,
      },
    )
  }
}

/** A channel is full. Events before the refused one stay published. */
export class BrokerFullError extends LazaretError {
  override readonly name = 'BrokerFullError'

  constructor(broker: string, channel: string, capacity: number) {
    super(
      `broker '${broker}': channel '${channel}' is full (${capacity} events); publish again when consumers have caught up`,
      { code: 'LAZARET_BROKER_FULL', retryable: true },
    )
  }
}

/** The delivery was settled before, or its subscription closed or lost it. Its current holder will settle it. */
export class DeliveryLostError extends LazaretError {
  override readonly name = 'DeliveryLostError'

  constructor(broker: string, channel: string) {
    super(
      `broker '${broker}': a delivery of channel '${channel}' is no longer open; ignore it, the broker delivers its event again`,
      {
        code: 'LAZARET_DELIVERY_LOST',
        retryable: false,
      },
    )
  }
}
