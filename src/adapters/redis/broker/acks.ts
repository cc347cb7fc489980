import { run } from '../connection/script.ts'
import type { HandlerContext } from './context.ts'
import type { StreamDelivery } from './delivery.ts'
import { retryUntilDone } from './retry-until-done.ts'
import { FINISH } from './scripts/settling.ts'
import { TRIM } from './scripts/stream.ts'

const MAX_BATCH = 5_000
/** The number of acknowledgements after which the stream is trimmed. */
const TRIM_EVERY = 2_000

/**
 * Acknowledges finished events. One command takes all acknowledgements that arrive during the previous one: a command for
 * each would cost two thirds of the throughput. No caller waits for it. If it fails permanently, the events are delivered
 * again.
 */
export class Acks {
  readonly #context: HandlerContext
  readonly #onAcked: (deliveries: readonly StreamDelivery[]) => void
  #finished: StreamDelivery[] = []
  #sending: readonly StreamDelivery[] = []
  #flushing: Promise<void> | undefined
  #sinceTrim = 0
  #isTrimming = false

  constructor(context: HandlerContext, onAcked: (deliveries: readonly StreamDelivery[]) => void) {
    this.#context = context
    this.#onAcked = onAcked
  }

  /** The number of finished events that are not acknowledged yet. */
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

  /** Removes entries from the stream that every handler has finished, if at least this many were acknowledged since. */
  async trim(least = 1): Promise<void> {
    if (this.#sinceTrim < least || this.#isTrimming) return
    this.#isTrimming = true
    this.#sinceTrim = 0
    try {
      await run(this.#context.connection, TRIM, [this.#context.keys.events])
    } finally {
      this.#isTrimming = false
    }
  }

  async #flush(): Promise<void> {
    const { settings, hasGivenUp } = this.#context
    // Waits for everything that is finished in this turn.
    await new Promise<void>(resolve => process.nextTick(resolve))
    while (this.#finished.length > 0) {
      const batch = this.#finished.splice(0, MAX_BATCH)
      this.#sending = batch
      await retryUntilDone(settings, hasGivenUp, () => this.#send(batch))
      this.#sending = []
      this.#sinceTrim += batch.length
      if (this.#sinceTrim >= TRIM_EVERY) this.trim(TRIM_EVERY).catch(settings.onError)
      this.#onAcked(batch)
    }
    this.#flushing = undefined
  }

  /** Sending it twice is as good as once. */
  async #send(batch: readonly StreamDelivery[]): Promise<void> {
    const { connection, keys } = this.#context
    const { events, own, notes, handler } = keys
    const plain: string[] = []
    const marks: string[] = []
    for (const { side, id, hasNotes } of batch) {
      if (side === 'events' && !hasNotes) plain.push(id)
      else marks.push(side, id)
    }
    const options = { key: events, idempotent: true }
    await Promise.all([
      plain.length > 0 &&
        connection.send('acknowledging events', ['XACK', events, handler, ...plain], options),
      marks.length > 0 && run(connection, FINISH, [events, own, notes], [handler, ...marks], options),
    ])
  }
}
