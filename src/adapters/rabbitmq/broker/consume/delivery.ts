import type { StallReporter } from '../../../../adapter-kit/delivery/stalls.ts'
import { TrackedDelivery } from '../../../../adapter-kit/delivery/tracked-delivery.ts'
import type { AttemptRecord } from '../../../../core/dead-letter/letter.ts'
import type { AmqpMessage } from '../../connection/amqp.ts'
import { decode } from '../wire/event-codec.ts'
import { type MessageLog, readLog, readOrigin } from '../wire/message-log.ts'
import type { ConsumerChannel } from './consumer-channel.ts'

/** The queue that a subscription consumes. */
export interface SubscribedQueue {
  readonly broker: string
  readonly channel: string
  readonly handler: string
  readonly queue: string
  /** Hears when the server does not take what becomes of a delivery. */
  readonly stalls: StallReporter
}

/** One delivery of a message. */
export class RabbitmqDelivery extends TrackedDelivery {
  readonly message: AmqpMessage
  readonly queue: string
  readonly stalls: StallReporter
  /** The AMQP channel that the message came on: its tag means nothing on any other. */
  readonly amqpChannel: ConsumerChannel
  /** The message came from the suspects. */
  readonly isSuspect: boolean
  #isSuspected: boolean

  /** `known` is what this process knows better than the headers of the message. */
  constructor(
    amqpChannel: ConsumerChannel,
    message: AmqpMessage,
    { broker, channel, queue, stalls }: SubscribedQueue,
    isSuspect: boolean,
    known?: MessageLog,
  ) {
    const origin = readOrigin(broker, queue, message)
    const log = known ?? readLog(message.properties.headers ?? {})
    super(channel, decode(message, channel, origin), origin, log)
    this.message = message
    this.queue = queue
    this.stalls = stalls
    this.amqpChannel = amqpChannel
    this.isSuspect = isSuspect
    this.#isSuspected = log.isSuspected
  }

  /**
   * The log that the message carries when it is published again. An ended attempt counts as started, also without
   * `begin`.
   */
  override get log(): MessageLog {
    const { started, ended, history } = super.log
    return { started: Math.max(started, ended), ended, history, isSuspected: this.#isSuspected }
  }

  get isSuspected(): boolean {
    return this.#isSuspected
  }

  get id(): string | undefined {
    return this.event?.id
  }

  /** An attempt that ended, however, took no process down. */
  override recordEnds(ended: readonly AttemptRecord[]): void {
    super.recordEnds(ended)
    if (ended.length > 0) this.#isSuspected = false
  }

  /** Should the process die now, it was perhaps this message that ended the one before. */
  suspect(): void {
    this.#isSuspected = true
  }
}

const MAX_LOST = 10_000

interface LostDelivery {
  readonly log: MessageLog
  /** How many starts the server knew of. */
  readonly recorded: number
  readonly wasSuspect: boolean
}

/**
 * The deliveries that this process had open when its connection was lost. Such a message looks like one of a crashed
 * process when it is delivered again. This process remembers how many of its attempts really started.
 */
export class LostDeliveries {
  readonly #lost = new Map<string, LostDelivery>()

  /** `recorded` is how many starts the server knows of, if this process has recorded some since the delivery. */
  add(delivery: RabbitmqDelivery, recorded = delivery.started): void {
    const name = nameOf(delivery)
    if (name === undefined) return
    // No process died: the attempt that was begun is not a crash, and its end is not reported to the server.
    delivery.takeBackStart()
    this.#lost.set(name, { log: delivery.log, recorded, wasSuspect: delivery.isSuspect })
    if (this.#lost.size <= MAX_LOST) return
    const [oldest] = this.#lost.keys()
    this.#lost.delete(oldest!)
  }

  /** Undefined also if another process has had the event since, which knows more of it. */
  take(delivery: RabbitmqDelivery): MessageLog | undefined {
    const name = this.#lost.size === 0 ? undefined : nameOf(delivery)
    const lost = name === undefined ? undefined : this.#lost.get(name)
    if (lost === undefined) return undefined
    this.#lost.delete(name!)
    const { started, ended } = delivery.log
    const isNewer =
      started > lost.recorded || ended > lost.log.ended || delivery.isSuspect !== lost.wasSuspect
    return isNewer ? undefined : lost.log
  }
}

/** The name of a delivery. It contains the queue, because every handler has its own copy of an event. */
function nameOf({ id, queue }: RabbitmqDelivery): string | undefined {
  return id === undefined ? undefined : `${queue}\n${id}`
}
