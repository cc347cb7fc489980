import { yieldToEventLoop } from '../../../../ports/clock.ts'
import type { AmqpChannel, AmqpMessage } from '../../connection/amqp.ts'
import type { PrefetchWindow } from './stall-detector.ts'

/**
 * Acknowledges all settlements of one turn of the event loop together: one acknowledgement for everything below the
 * oldest open delivery, and one for each of the others. One acknowledgement per message costs a third of the throughput.
 */
export class Acks {
  readonly #channel: AmqpChannel
  /** The open deliveries in the order of arrival, which is the order of tags, each with its prefetch window. */
  readonly #open = new Map<number, PrefetchWindow | undefined>()
  #settled: AmqpMessage[] = []
  #willFlush = false
  /** The number of sent acknowledgements, from which `close` knows whether to wait. */
  sent = 0

  constructor(channel: AmqpChannel) {
    this.#channel = channel
  }

  arrived({ fields }: AmqpMessage, window?: PrefetchWindow): void {
    this.#open.set(fields.deliveryTag, window)
    if (window !== undefined) window.open++
  }

  /** The number of deliveries that are not settled. */
  get open(): number {
    return this.#open.size
  }

  settled(message: AmqpMessage): void {
    const tag = message.fields.deliveryTag
    const window = this.#open.get(tag)
    if (window !== undefined) window.open--
    this.#open.delete(tag)
    this.#settled.push(message)
    if (this.#willFlush) return
    this.#willFlush = true
    void yieldToEventLoop().then(() => this.flush())
  }

  flush(): void {
    this.#willFlush = false
    const settled = this.#settled
    if (settled.length === 0) return
    this.#settled = []
    const [oldestOpen = Number.POSITIVE_INFINITY] = this.#open.keys()
    let upTo: AmqpMessage | undefined
    const single: AmqpMessage[] = []
    for (const message of settled) {
      const tag = message.fields.deliveryTag
      if (tag > oldestOpen) single.push(message)
      else if (upTo === undefined || tag > upTo.fields.deliveryTag) upTo = message
    }
    this.sent += settled.length
    try {
      if (upTo !== undefined) this.#channel.ack(upTo, true)
      for (const message of single) this.#channel.ack(message)
    } catch {
      // The channel is gone and with it the deliveries: they come again.
    }
  }
}
