import { writeProgress } from '../streams/progress-record.ts'
import type { SubscriptionContext } from './context.ts'

/**
 * Records now and then how far the handler has come. If its consumer is deleted, the next one begins there, although the process
 * that makes it knows only of its own events.
 */
export class ProgressWriter {
  readonly #context: SubscriptionContext
  /** What was written last. */
  #written: string | undefined
  #isWriting = false

  constructor(context: SubscriptionContext) {
    this.#context = context
  }

  /** Writes the progress if it has changed. A record that cannot be written is written the next time. */
  write(): void {
    if (this.#isWriting) return
    this.#isWriting = true
    this.#write()
      .catch(() => {})
      .finally(() => {
        this.#isWriting = false
      })
  }

  async #write(): Promise<void> {
    const { jetstream, names, streams, publisher } = this.#context
    const stream = names.streams.events
    const created = streams.createdAt(stream)
    const consumer = await jetstream.consumerInfo(stream, names.consumer)
    if (consumer === undefined || created === undefined) return
    const settledTo = consumer.ack_floor.stream_seq
    const consumerCreated = consumer.created
    const progress = `${settledTo} ${created} ${consumerCreated}`
    if (progress === this.#written) return
    // After the consumer, so that the stream has had everything that is settled.
    const info = await jetstream.streamInfo(stream)
    // The stream was made again, or has begun again, and the consumer was that of the old one.
    if (info?.created !== created || info.state.last_seq < settledTo) return
    const lastStoredAt = Date.parse(info.state.last_ts ?? '') || undefined
    const record = { created, settledTo, lastStoredAt, consumerCreated }
    await publisher.publish([writeProgress(names, streams.name(names.channel, 'state'), record)])
    this.#written = progress
  }
}
