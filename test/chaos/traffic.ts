import type { LazaretEvent } from '../../src/core/event/event.ts'
import { fixed } from '../../src/core/retry/fixed.ts'
import type { Broker } from '../../src/ports/broker.ts'
import { systemClock, systemRandom } from '../../src/ports/clock.ts'
import { type Consumer, createConsumer } from '../../src/runtime/consumer/consumer.ts'
import { createFactory } from '../../src/testing/factories.ts'

const PER_BATCH = 20

/** Publishes and handles events on a server that misbehaves, and keeps count of what became of each. */
export class Traffic {
  readonly channel: string
  readonly published = new Set<string>()
  /** How often each was handled. */
  readonly handled = new Map<string, number>()
  readonly #publisher: Broker
  readonly #consuming: Broker
  readonly #consumer: Consumer
  readonly #make = createFactory({ clock: systemClock, random: systemRandom })

  /** The publisher and the consumer are two processes, each with a broker that it opens. */
  constructor(channel: string, open: () => Broker) {
    this.channel = channel
    this.#publisher = open()
    this.#consuming = open()
    this.#consumer = createConsumer({
      broker: this.#consuming,
      channel,
      concurrency: 20,
      prefetch: 100,
      breaker: 'off',
      retry: { attempts: 5, backoff: fixed({ delayMs: 150 }) },
      handle: (event, { attempt }) => this.#handle(event, attempt),
    })
  }

  async start(): Promise<void> {
    await this.#consumer.start()
  }

  /** Batch after batch; what is refused is published again, as callers do. */
  async publish(count: number): Promise<void> {
    for (let sent = 0; sent < count; sent += PER_BATCH) {
      const events = this.#make.events(PER_BATCH, { channel: this.channel })
      for (const { id } of events) this.published.add(id)
      while (!(await this.#accepted(events))) await pause(50)
    }
  }

  get missing(): number {
    return [...this.published].filter(id => !this.handled.has(id)).length
  }

  get duplicates(): number {
    return [...this.handled.values()].filter(times => times > 1).length
  }

  async until(isSo: () => boolean, what: string, limitMs = 300_000): Promise<void> {
    const giveUpAt = systemClock.now() + limitMs
    while (!isSo()) {
      if (systemClock.now() > giveUpAt)
        throw new Error(
          `${what} did not happen: ${this.published.size} published, ${this.missing} not handled`,
        )
      await pause(20)
    }
  }

  async close(): Promise<void> {
    await this.#consumer.close()
    await this.#consuming.close()
    await this.#publisher.close()
  }

  /** One in twenty fails at first and waits on the server. */
  async #handle(event: LazaretEvent, attempt: number): Promise<void> {
    await pause(2)
    if (attempt === 1 && event.id.charCodeAt(event.id.length - 1) % 16 === 0) throw new Error('try again')
    this.handled.set(event.id, (this.handled.get(event.id) ?? 0) + 1)
  }

  async #accepted(events: readonly LazaretEvent[]): Promise<boolean> {
    return await this.#publisher.publish(events).then(
      () => true,
      () => false,
    )
  }
}

function pause(ms: number): Promise<void> {
  return new Promise(resolve => systemClock.schedule(ms, resolve))
}
