import type { LazaretEvent } from '../../../src/core/event/event.ts'
import type { Broker } from '../../../src/ports/broker.ts'
import { pause } from './wait.ts'

const PER_BATCH = 100
/** So that every fault finds the publisher at work, not only the first. */
const MOST_AHEAD = 3_000

/** Publishes batch after batch; what is not confirmed is published again, as callers do. */
export class Publisher {
  /** Batches that were sent once more. */
  again = 0
  readonly #broker: Broker
  #isStopped = false

  constructor(broker: Broker) {
    this.#broker = broker
  }

  async publish(events: readonly LazaretEvent[], handled: () => number): Promise<void> {
    for (let sent = 0; sent < events.length && !this.#isStopped; sent += PER_BATCH) {
      while (sent - handled() > MOST_AHEAD && !this.#isStopped) await pause(50)
      while (!(await this.#accepted(events.slice(sent, sent + PER_BATCH))) && !this.#isStopped) {
        this.again++
        await pause(50)
      }
    }
  }

  async close(): Promise<void> {
    this.#isStopped = true
    await this.#broker.close()
  }

  async #accepted(events: readonly LazaretEvent[]): Promise<boolean> {
    return await this.#broker.publish(events).then(
      () => true,
      () => false,
    )
  }
}
