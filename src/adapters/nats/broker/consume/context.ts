import type { StallReporter } from '../../../../adapter-kit/delivery/stalls.ts'
import type { Delivery, StalledPart } from '../../../../ports/broker.ts'
import type { JetStream } from '../../connection/jetstream.ts'
import type { Link } from '../../connection/link.ts'
import type { Publisher } from '../../connection/publisher.ts'
import type { NatsSettings } from '../../options.ts'
import type { HandlerNames } from '../streams/names.ts'
import type { Streams } from '../streams/streams.ts'

/** The objects that the parts of one subscription share. */
export interface SubscriptionContext {
  readonly settings: NatsSettings
  readonly link: Link
  readonly jetstream: JetStream
  readonly publisher: Publisher
  readonly streams: Streams
  readonly names: HandlerNames
  readonly prefetch: number
  /** After this time without a sign of its consumer, the server delivers a message again. */
  readonly ackWaitMs: number
  /** A name that no other subscription has. */
  readonly id: string
  readonly deliver: (delivery: Delivery) => void
  readonly stalls: StallReporter
  /** Repeats work until it succeeds, for as long as `isWanted`. False if it is not any more. */
  readonly persist: (
    isWanted: () => boolean,
    part: StalledPart,
    work: () => Promise<void>,
  ) => Promise<boolean>
  /** Called when the subscription is closed. */
  readonly forget: () => void
}
