import { rabbitmq } from '../../../src/adapters/rabbitmq/index.ts'
import { createFactory } from '../../../src/testing/factories.ts'
import { seededRandom } from '../../../src/testing/seeded-random.ts'
import { ORDERS } from '../../fleet/shop/settings.ts'
import { pause } from '../campaign/wait.ts'

const AT_ONCE = 5
const EVERY_MS = 500
/** So that every fault finds letters that wait, and the end does not take long. */
const MOST_AHEAD = 50

/** Publishes orders until it is stopped. RabbitMQ is never away, so each is confirmed. */
export class Producer {
  /** The ids of the orders that RabbitMQ has confirmed. */
  readonly confirmed: string[] = []
  readonly #broker: ReturnType<typeof rabbitmq>
  readonly #handled: () => number
  readonly #make: ReturnType<typeof createFactory>
  #isStopped = false
  #working: Promise<void> | undefined

  constructor(url: string, seed: number, handled: () => number) {
    this.#handled = handled
    this.#broker = rabbitmq({ url })
    this.#make = createFactory({ random: seededRandom(seed) })
  }

  start(): void {
    this.#working = this.#work()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#working
    await this.#broker.close()
  }

  async #work(): Promise<void> {
    for (; !this.#isStopped; await pause(EVERY_MS)) {
      if (this.confirmed.length - this.#handled() > MOST_AHEAD) continue
      const orders = this.#make.events(AT_ONCE, { channel: ORDERS.channel, payload: { total: 1 } })
      await this.#broker.publish(orders)
      this.confirmed.push(...orders.map(({ id }) => id))
    }
  }
}
