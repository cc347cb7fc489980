import type { LazaretEvent } from '../../../src/core/event/event.ts'
import type { Broker } from '../../../src/ports/broker.ts'
import { pause } from './wait.ts'

export interface PublisherOptions {
  readonly perBatch: number
  /** Of what was handled, so that every fault finds the publisher at work, not only the first. */
  readonly mostAhead: number
  /** Between two batches. */
  readonly pauseMs: number
  /** Publishing has resolved for these. */
  readonly onAccepted: (events: readonly LazaretEvent[]) => void
  /** It was rejected for these. They are published again. */
  readonly onRejected: (events: readonly LazaretEvent[], error: unknown) => void
}

const DEFAULTS: PublisherOptions = {
  perBatch: 100,
  mostAhead: 3_000,
  pauseMs: 0,
  onAccepted: () => {},
  onRejected: () => {},
}

/** Publishes batch after batch; what is not confirmed is published again, as callers do. */
export class Publisher {
  /** Batches that were sent once more. */
  again = 0
  readonly #broker: Broker
  readonly #options: PublisherOptions
  #isStopped = false

  constructor(broker: Broker, options: Partial<PublisherOptions> = {}) {
    this.#broker = broker
    this.#options = { ...DEFAULTS, ...options }
  }

  async publish(events: readonly LazaretEvent[], handled: () => number): Promise<void> {
    const { perBatch, mostAhead, pauseMs } = this.#options
    for (let sent = 0; sent < events.length && !this.#isStopped; sent += perBatch) {
      while (sent - handled() > mostAhead && !this.#isStopped) await pause(50)
      while (!(await this.#accepted(events.slice(sent, sent + perBatch))) && !this.#isStopped) {
        this.again++
        await pause(50)
      }
      if (pauseMs > 0) await pause(pauseMs)
    }
  }

  async close(): Promise<void> {
    this.#isStopped = true
    await this.#broker.close()
  }

  async #accepted(events: readonly LazaretEvent[]): Promise<boolean> {
    try {
      await this.#broker.publish(events)
    } catch (error) {
      this.#options.onRejected(events, error)
      return false
    }
    this.#options.onAccepted(events)
    return true
  }
}
