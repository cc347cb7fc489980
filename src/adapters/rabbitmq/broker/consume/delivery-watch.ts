import type { StallReporter } from '../../../../adapter-kit/delivery/stalls.ts'
import { NoDeliveriesError } from '../../errors.ts'
import { Progress } from './progress.ts'

/** Every so many looks at which nothing has arrived, the queue is bound again. */
const BIND_EVERY = 10

/** The consumer of the moment. */
interface WatchedConsumer {
  readonly hasRoom: boolean
  countReady(queue: string): Promise<number>
}

/**
 * Watches what one queue delivers, over all channels that consume it. Nobody tells a consumer that the server has forgotten
 * it; only that nothing comes shows it. Whoever consumes looks every now and then, and opens a new channel when
 * it is told to.
 */
export class DeliveryWatch {
  readonly queue: string
  readonly #stalls: StallReporter
  readonly #bind: () => Promise<void>
  readonly #progress = new Progress()
  #arrived = 0
  #looksWithout = 0

  /** `bind` sees to it that the queue gets what is published, should somebody have deleted what it is bound to. */
  constructor(queue: string, stalls: StallReporter, bind: () => Promise<void> = async () => {}) {
    this.queue = queue
    this.#stalls = stalls
    this.#bind = bind
  }

  /** Also that the queue was deleted: then the server has not forgotten the consumer. */
  arrived(): void {
    this.#arrived++
  }

  async isStalled(consumer: WatchedConsumer): Promise<boolean> {
    const finding = await this.#progress.look({
      arrived: () => this.#arrived,
      hasRoom: consumer.hasRoom,
      ready: () => consumer.countReady(this.queue),
    })
    if (finding === 'moving' || finding === 'empty') this.end()
    if (finding !== 'moving' && ++this.#looksWithout % BIND_EVERY === 0) void this.#bind().catch(() => {})
    return finding === 'stalled'
  }

  /** Told until something arrives, or nothing waits any more. */
  tell(): Error {
    const error = new NoDeliveriesError(this.queue)
    this.#stalls.stalled('deliveries', this, error)
    return error
  }

  /** It holds nothing up, or is another's business now. */
  end(): void {
    this.#stalls.gaveUp('deliveries', this)
  }
}
