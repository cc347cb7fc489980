import type { RedisConnection } from '../connection/connection.ts'
import { run } from '../connection/script.ts'
import type { StreamDelivery } from './delivery.ts'
import type { HandlerPlaces } from './keys.ts'
import type { RedisStreamsSettings } from './options.ts'
import { persist } from './persistence.ts'
import { FINISH, TRIM } from './scripts/finishing.ts'

const MOST_AT_ONCE = 5_000
/** So many acknowledged, and what every handler has finished with is removed from the stream. */
const TRIM_EVERY = 2_000

/**
 * Acknowledges what is finished, all that gathers while the last batch is under way in one command: one for each would cost
 * two thirds of the throughput. Nobody waits for it: should it fail for good, the events come again.
 */
export class Acks {
  readonly #on: RedisConnection
  readonly #places: HandlerPlaces
  readonly #settings: RedisStreamsSettings
  readonly #isPointless: () => boolean
  readonly #onAcked: (deliveries: readonly StreamDelivery[]) => void
  #finished: StreamDelivery[] = []
  #sending: readonly StreamDelivery[] = []
  #flushing: Promise<void> | undefined
  #sinceTrim = 0
  #isTrimming = false

  constructor(
    on: RedisConnection,
    places: HandlerPlaces,
    settings: RedisStreamsSettings,
    isPointless: () => boolean,
    onAcked: (deliveries: readonly StreamDelivery[]) => void,
  ) {
    this.#on = on
    this.#places = places
    this.#settings = settings
    this.#isPointless = isPointless
    this.#onAcked = onAcked
  }

  /** Finished, and not acknowledged yet. */
  get count(): number {
    return this.#finished.length + this.#sending.length
  }

  get underWay(): readonly StreamDelivery[] {
    return [...this.#sending, ...this.#finished]
  }

  add(delivery: StreamDelivery): void {
    this.#finished.push(delivery)
    this.#flushing ??= this.#flush()
  }

  /** Resolves when all is acknowledged. */
  async settled(): Promise<void> {
    while (this.#flushing !== undefined) await this.#flushing
  }

  /** Removes from the stream what every handler has finished with; the rest of it when there is little to do. */
  async trim(least = 1): Promise<void> {
    if (this.#sinceTrim < least || this.#isTrimming) return
    this.#isTrimming = true
    this.#sinceTrim = 0
    try {
      await run(this.#on, TRIM, [this.#places.events])
    } finally {
      this.#isTrimming = false
    }
  }

  async #flush(): Promise<void> {
    // Behind everything that is finished in this turn.
    await new Promise<void>(resolve => process.nextTick(resolve))
    while (this.#finished.length > 0) {
      const batch = this.#finished.splice(0, MOST_AT_ONCE)
      this.#sending = batch
      await persist(this.#settings, this.#isPointless, () => this.#send(batch))
      this.#sending = []
      this.#sinceTrim += batch.length
      if (this.#sinceTrim >= TRIM_EVERY) this.trim(TRIM_EVERY).catch(this.#settings.onError)
      this.#onAcked(batch)
    }
    this.#flushing = undefined
  }

  /** Done twice it is as good as once. */
  async #send(batch: readonly StreamDelivery[]): Promise<void> {
    const { events, own, notes, handler } = this.#places
    const plain: string[] = []
    const marks: string[] = []
    for (const { side, id, hasNotes } of batch) {
      if (side === 'events' && !hasNotes) plain.push(id)
      else marks.push(side, id)
    }
    const doing = 'acknowledging events'
    await Promise.all([
      plain.length > 0 &&
        this.#on.send(doing, ['XACK', events, handler, ...plain], { key: events, again: true }),
      marks.length > 0 && run(this.#on, FINISH, [events, own, notes], [handler, ...marks], { again: true }),
    ])
  }
}
